"""The tasks of the suite, read from `suites/edits/tasks.toml`. Data; no model."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lacli.text.languages import language_of

SUITE = Path(__file__).resolve().parents[1] / "suites" / "edits"


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of a file, and how to tell whether it was done; the keys are explained in the file."""

    number: int
    """From 1."""
    file: str
    kind: str
    instruction: str
    changes: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    imports: bool = False
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    python: str = ""
    renames: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    """How the tests make a right answer: pairs of old and new text, or a name of `adds` and its text."""

    @property
    def path(self) -> Path:
        """The file as it is shipped."""
        return SUITE / "files" / self.file

    @property
    def text(self) -> str:
        """What stands in it."""
        return self.path.read_text(encoding="utf-8")

    @property
    def language(self) -> str:
        """The name of its language."""
        return language_of(self.file).name


def tasks() -> list[Task]:
    """All tasks, in order."""
    known = {field.name for field in fields(Task)}
    found = []
    for number, table in enumerate(tomllib.loads((SUITE / "tasks.toml").read_text(encoding="utf-8"))["tasks"], 1):
        assert set(table) <= known, set(table) - known
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in table.items()
        }
        found.append(Task(number=number, **values))
    return found
