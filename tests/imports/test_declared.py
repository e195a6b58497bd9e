"""Every package that is imported is declared: what another dependency happens to bring along may go with its update."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPTIONAL = {
    "pip": "fetches a wheel where the user's Python has it",
    "pygls": "of the extra `lsp`: without it `lacli lsp` says so",
    "lsprotocol": "comes with pygls",
    "triton": "of the extra `triton`, or brought by PyTorch for CUDA: without it stock kernels multiply",
    "xllamacpp": "a peer of the benchmark, installed by hand",
}


def imported() -> Iterator[tuple[str, Path]]:
    """The first part of every import, with the file."""
    for package in ("lacli", "lacli_tui"):
        for file in sorted((ROOT / package).rglob("*.py")):
            if "suites" in file.parts:  # files of other projects
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from ((alias.name.partition(".")[0], file) for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    yield node.module.partition(".")[0], file


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_import_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {normal(re.match(r"[\w.-]+", each)[0]) for each in project["dependencies"]}  # type: ignore[index]
    distributions = packages_distributions()
    missing = {
        f"{name} in {file.relative_to(ROOT)}"
        for name, file in imported()
        if name not in sys.stdlib_module_names
        and name not in ("lacli", "lacli_tui", *OPTIONAL)
        and not declared & {normal(each) for each in distributions.get(name, [name])}
    }
    assert not missing
