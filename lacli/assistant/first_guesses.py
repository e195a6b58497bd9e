"""What a model starts to guess with: found beside it, or made as the last stage of its preparation, once.

The models of the registry that we have bring theirs in the package (`shipped/`, made by `lacli.bench.first_guesses`).
Any other learns them when it is made ready for the first time, with progress of its own, and `lacli models pull` does
it ahead of time. Whoever does not wait for that (Ctrl-C, a cancelled call) is not asked to wait again: an empty table
is kept, until `lacli models pull`. May not: compute (`primer` does), or keep anything of a project.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lacli import paths
from lacli.assistant import ngram_table, primer
from lacli.assistant.base import Report
from lacli.drafts.ngrams import Ngrams, empty
from lacli.errors import LacliError
from lacli.events import Loading
from lacli.storage import atomic, files

if TYPE_CHECKING:
    from lacli.drafts.successor import SuccessorTable
    from lacli.models.base import Runner
    from lacli.models.prepare.prepare import PreparedModel
    from lacli.text.tokenizer import Tokenizer

_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class FirstGuesses:
    """What every reply of a model starts with, besides the project's pool."""

    primer: SuccessorTable | None
    ngrams: Ngrams | None


NONE = FirstGuesses(None, None)


def find(prepared: PreparedModel, vocab_size: int) -> SuccessorTable | None:
    """The table of this model in this quantisation; None if none was ever made, or it is damaged.

    One of an older text serves as well as long as there is none of the present one: nobody is to wait for that.
    """
    for data in _stored(prepared):
        table = primer.decode(data, vocab_size)
        if table is not None:
            return table
    return None


def known_or_made(prepared: PreparedModel, runner: Runner, tokenizer: Tokenizer, report: Report) -> FirstGuesses:
    """What there is; what was never made is made now.

    Ctrl-C leaves out what is not done, and so does an end of the call that `report` raises, which takes its course.
    """

    def tell(done: int, total: int) -> None:
        report(Loading("prime", done, total))

    table, ngrams = find(prepared, runner.vocab_size), ngram_table.find(tokenizer)
    try:
        if table is None:
            table = _keep(prepared, lambda: primer.learn(runner, tokenizer, tell, primer.ENOUGH))
        if ngrams is None:
            ngrams = ngram_table.keep(tokenizer, lambda: ngram_table.counted(tokenizer, tell))
    except Exception:
        raise
    except BaseException as stop:  # Ctrl-C, or a cancelled call
        runner.truncate(0)
        if table is None:
            table = _keep(prepared, nothing)
        if ngrams is None:
            ngram_table.keep(tokenizer, empty)
        if not isinstance(stop, KeyboardInterrupt):
            raise
    return FirstGuesses(table, ngrams or None)


def nothing() -> SuccessorTable:
    """A table of no entries."""
    from lacli.drafts.successor import SUCCESSORS

    return (
        np.empty((0, 2), np.uint32),
        np.empty((0, SUCCESSORS), np.uint32),
        np.empty((0, SUCCESSORS), np.uint8),
    )


def wanted(prepared: PreparedModel, tokenizer: Tokenizer) -> bool:
    """Whether `lacli models pull` has to make any: none of the present text, or left out at the time."""
    ngram_table.forget_left_out(tokenizer)
    return _primer_is_wanted(prepared) or ngram_table.find(tokenizer) is None


def _primer_is_wanted(prepared: PreparedModel) -> bool:
    if shipped_file(prepared).is_file():
        return False
    with contextlib.suppress(LacliError, OSError):
        file = _file(prepared)
        if not file.is_file() or files.read(file, limit=_MOST_BYTES) == primer.encode(nothing()):
            file.unlink(missing_ok=True)
            return True
    return False


def shipped_file(prepared: PreparedModel) -> Path:
    """Where the package has the table of this model, if it has it: named by the model's content, not by its file."""
    content = "-".join(_home(prepared).name.split("-")[-2:])
    return Path(str(resources.files("lacli.assistant") / "shipped")) / _name(content, prepared.quant)


def _stored(prepared: PreparedModel) -> Iterator[bytes]:
    shipped = shipped_file(prepared)
    with contextlib.suppress(LacliError, OSError):
        kept = _file(prepared)
        others = sorted(kept.parent.glob(f"{_stem(prepared)}-{prepared.quant}-*.npz"))
        for file in dict.fromkeys((shipped, kept, *others)):
            with contextlib.suppress(OSError):
                yield files.read(file, limit=_MOST_BYTES)


def _keep(prepared: PreparedModel, made: Callable[[], SuccessorTable]) -> SuccessorTable | None:
    """Make the table and keep it; None where it cannot be kept, as it would be made anew at each start."""
    try:
        file = _file(prepared)
        files.make_private(file.parent)
    except (LacliError, OSError):
        return None
    table = made()
    with contextlib.suppress(OSError):
        atomic.replace(file, primer.encode(table))
    return table


def _file(prepared: PreparedModel) -> Path:
    """Where the table of this model is kept. Raises LacliError where there is no place for a cache."""
    return paths.cache_dir() / "primers" / _name(_stem(prepared), prepared.quant)


def _name(model: str, quant: str) -> str:
    return f"{model}-{quant}-{primer.version()}.npz"


def _stem(prepared: PreparedModel) -> str:
    """The model in the name of its file: folders of lacli's own are named by their content, others may share a name."""
    home = _home(prepared)
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", home.name)
    if home.parent == paths.models_dir():
        return plain
    return f"{plain}-{hashlib.sha256(str(home).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def _home(prepared: PreparedModel) -> Path:
    """The folder of the weights that run."""
    return prepared.folder if prepared.packed_file is None else prepared.packed_file.parent
