"""`python -m lacli.bench.first_guesses`: makes what the package ships of its models' first guesses, anew.

To be run after a change of `primer.txt`, of a model's source in `models.toml`, of how a model is quantised, or of how
n-grams are counted: what no model is made ready with any more is removed. Takes minutes, and a gigabyte for each of the
models. The n-grams are counted in the library of the running Python, which has to be `LIBRARY_OF`: they do not change
without need.
"""

from __future__ import annotations

import platform
from pathlib import Path

from lacli.assistant import first_guesses, ngram_table, primer
from lacli.drafts.successor import SuccessorTable
from lacli.models.base import Quant
from lacli.models.prepare.prepare import PreparedModel, prepare
from lacli.models.registry.registry import load_registry
from lacli.models.runners.load import load_runner
from lacli.text.tokenizer import Tokenizer

LIBRARY_OF = "3.11.7"
"""The Python in whose library the shipped n-grams were counted."""
SHIPPED: tuple[tuple[str, Quant], ...] = (
    ("smollm2-135m", "int4"),
    ("smollm2-135m", "int8"),
    ("qwen2.5-coder-1.5b", "int4"),
)


def learned(prepared: PreparedModel) -> SuccessorTable:
    """The whole table of a model, on the CPU: every instruction set gives the same."""
    runner = load_runner(prepared, prepared.quant, "cpu")
    return primer.learn(runner, Tokenizer.load(prepared.folder), lambda done, total: None)


def main() -> None:
    """Make all of them."""
    if platform.python_version() != LIBRARY_OF:
        raise SystemExit(f"run it with Python {LIBRARY_OF}, or change LIBRARY_OF and commit new n-grams")
    made = set[Path]()
    for alias, quant in SHIPPED:
        prepared = prepare(load_registry().resolve(alias), quant, lambda progress: None)
        file = first_guesses.shipped_file(prepared)
        file.write_bytes(primer.encode(learned(prepared)))
        print(f"{file}: {file.stat().st_size} bytes")
        made.add(file)
        tokenizer = Tokenizer.load(prepared.folder)
        file = ngram_table.shipped_file(tokenizer)
        if file not in made:
            file.write_bytes(ngram_table.counted(tokenizer, lambda done, total: None))
            print(f"{file}: {file.stat().st_size} bytes")
        made.add(file)
    for file in set(next(iter(made)).parent.iterdir()) - made:
        file.unlink()
        print(f"{file}: removed")


if __name__ == "__main__":
    main()
