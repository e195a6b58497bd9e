"""The tasks of the suite `edits`: what is asked of which file, and what a right answer shows. Read from `suites/edits`.

Text only: `judge` compares with it, `run` has it done.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from lacli.bench.edits.tree import Unit, language_of, units


@dataclass(frozen=True, slots=True)
class Task:
    """One edit."""

    number: int
    """From 1, as in the file; `--only` takes these."""
    file: str
    """Package and name, of the files beside the tasks."""
    kind: str
    """add, remove, rename, default, guard, convert, document, retype, move or several"""
    instruction: str
    """As a user writes it."""
    touches: Sequence[str] = ()
    """Paths of the units that may change; of them no word may be lost but `loses`."""
    adds: Sequence[str] = ()
    """Paths that must be there afterwards, and were not."""
    removes: Sequence[str] = ()
    """Paths that must be gone."""
    moves: Sequence[str] = ()
    """Paths that must be elsewhere, unchanged: directly `above` or `below` another. These also place what is added."""
    above: str = ""
    below: str = ""
    renames: Mapping[str, str] = field(default_factory=dict)
    """Names in paths, old to new, so that a definition is found under both."""
    loses: Sequence[str] = ()
    """Words (everywhere) or pieces of text of touched units that may go."""
    exact: bool = False
    """Whether there is but one right answer: `right`, word by word, outside what `free` matches."""
    free: Sequence[str] = ()
    run: str = ""
    """Python that raises where the changed module `m` is not right."""
    has: Sequence[tuple[str, str]] = ()
    """Patterns that the unit of a path must match."""
    lacks: Sequence[tuple[str, str]] = ()
    """Patterns that it must not match."""
    right: Sequence[tuple[str, str]] = ()
    """One right answer: texts that are found (all places) and what they become."""
    everywhere: Sequence[str] = ()
    """The same of a word in the touched units: old and new."""

    @property
    def language(self) -> str:
        """The grammar's name."""
        return language_of(self.file)

    def right_answer(self) -> str:
        """The file as one right answer leaves it."""
        text = before(self)
        if self.moves:
            return _moved(self, text)
        if self.everywhere:
            old, new = self.everywhere
            for unit in units(text, self.language):
                if unit.path in self.touches:
                    text = text.replace(unit.text, re.sub(rf"\b{old}\b", new, unit.text))
        for old, new in self.right:
            if old not in text:
                raise ValueError(f"task {self.number}: {self.file} has no {old!r}")
            text = text.replace(old, new)
        return text


@cache
def tasks() -> tuple[Task, ...]:
    """All forty."""
    table = tomllib.loads((_folder() / "tasks.toml").read_text(encoding="utf-8"))
    return tuple(Task(number, **entry) for number, entry in enumerate(table["task"], start=1))


def before(task: Task) -> str:
    """The file as it was."""
    return _text(task.file)


def project() -> dict[str, str]:
    """All twelve files by their names."""
    return {task.file: before(task) for task in tasks()}


@cache
def _text(file: str) -> str:
    text: str = (_folder() / "files" / file).read_text(encoding="utf-8")
    return text


def _folder() -> Any:
    return resources.files("lacli.bench") / "suites" / "edits"


def _moved(task: Task, text: str) -> str:
    """The unit cut out and put at its new place, with its own space behind it."""
    found = units(text, task.language)
    moved = next(unit for unit in found if unit.path in task.moves)
    rest = [unit for unit in found if unit != moved]
    place = [unit.path for unit in rest].index(task.above or task.below) + bool(task.below)
    space = rest[place - 1].gap
    ordered = [*rest[:place], Unit(moved.path, moved.text, space), *rest[place:]]
    if found[-1] == moved:
        last = rest[-1]
        ordered[-1] = Unit(last.path, last.text, moved.gap)
    return "".join(unit.text + unit.gap for unit in ordered)
