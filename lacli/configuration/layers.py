"""The files that apply here, which one wins, and where each value comes from.

A project's file before the user's; in each, the command's own table before the top level. What is typed or stands in
the environment wins over all of it, but that is typer's to see to.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lacli.configuration.document import Document, Where, read
from lacli.configuration.keys import Problem, Schema, check
from lacli.configuration.trust import USER_TABLES, refused
from lacli.errors import UsageError

PROJECT_FILE = "lacli.toml"
_PYPROJECT = ("tool", "lacli")


@dataclass(frozen=True, slots=True)
class Found:
    """A file that applies."""

    kind: Literal["user", "project"]
    document: Document
    root: Where = ()
    """The table of the file that is lacli's: [tool.lacli] of a pyproject.toml."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it stands."""

    value: Any
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the files say, the strongest first."""

    layers: tuple[dict[Where, Setting], ...] = ()
    problems: tuple[Problem, ...] = ()
    files: tuple[Path, ...] = ()

    def get(self, command: Where, key: str, common: bool = True) -> Setting | None:
        """The setting of a command's option; `common` ones may stand at the top level, too."""
        for layer in self.layers:
            for where in [(*command, key), (key,)] if common else [(*command, key)]:
                if where in layer:
                    return layer[where]
        return None

    def settings(self) -> Iterator[tuple[Where, Setting]]:
        """All that is set and not hidden by a stronger file."""
        seen: set[Where] = set()
        for layer in self.layers:
            for where, setting in layer.items():
                if where not in seen:
                    seen.add(where)
                    yield where, setting

    def raise_problems(self) -> None:
        """Raise the first mistake, and say how many more there are."""
        if self.problems:
            error = self.problems[0].error()
            more = len(self.problems) - 1
            others = f"; {more} more: see `lacli config validate`" if more else ""
            raise UsageError(error.message, error.hint + others)


def project_files(folders: Iterable[Path]) -> list[Found]:
    """The file of the project in the nearest of these folders that has one; a mistake where it has two."""
    for folder in folders:
        own, shared = folder / PROJECT_FILE, folder / "pyproject.toml"
        found = [Found("project", read(own))] if os.path.lexists(own) else []
        if os.path.lexists(shared) and (document := _configured(shared)) is not None:
            found.append(Found("project", document, _PYPROJECT))
        if len(found) == 2:
            line = found[1].document.line(_PYPROJECT)
            raise UsageError(f"{shared}:{line}: {own} configures this project, too", "keep one of them")
        if found:
            return found
    return []


def _configured(path: Path) -> Document | None:
    """A pyproject.toml that speaks of lacli; one that does not may be as broken as it likes."""
    try:
        document = read(path)
    except UsageError:
        with contextlib.suppress(OSError):
            if path.is_file() and b"tool.lacli" in path.read_bytes():
                raise
        return None
    tool = document.data.get("tool")
    return document if isinstance(tool, dict) and "lacli" in tool else None


def files_of(folder: Path) -> list[Path]:
    """The files in this folder that mean to configure lacli, broken ones too."""
    own, shared = folder / PROJECT_FILE, folder / "pyproject.toml"
    try:
        speaks = os.path.lexists(shared) and _configured(shared) is not None
    except UsageError:
        speaks = True
    return ([own] if os.path.lexists(own) else []) + ([shared] if speaks else [])


def found_in(path: Path) -> list[Found]:
    """One file by itself, as what its name says it is."""
    if path.name == "pyproject.toml":
        return [Found("project", read(path), _PYPROJECT)]
    return [Found("project" if path.name == PROJECT_FILE else "user", read(path))]


def user_file(path: Path, named: bool) -> list[Found]:
    """The user's file, if there is one; one that was `named` must be there."""
    return [Found("user", read(path))] if named or os.path.lexists(path) else []


def _tables_of_the_user(found: Found) -> list[Problem]:
    """The tables of a project's file that only the user's own may have."""
    data = found.document.below(found.root)
    there = [name for name in USER_TABLES if isinstance(data, dict) and name in data]
    return [
        Problem(found.document.path, found.document.line((*found.root, name)), f"a project may not set [{name}]")
        for name in there
    ]


def layered(found: Iterable[Found], schema: Schema) -> Configuration:
    """The files, checked and put in order."""
    layers: list[dict[Where, Setting]] = []
    problems: list[Problem] = []
    files: list[Path] = []
    for each in found:
        checked = check(each.document, schema, each.root)
        lines = {where: each.document.line(each.root + where) for where in checked.values}
        files.append(each.document.path)
        problems += checked.problems
        if each.kind == "project":
            problems += _tables_of_the_user(each)
        layer = {}
        for where, value in checked.values.items():
            why = refused(where[-1], value) if each.kind == "project" else None
            if why is not None:
                text, hint = why
                hint += f"; --config {os.devnull} runs without any file"
                problems.append(Problem(each.document.path, lines[where], text, hint))
            else:
                layer[where] = Setting(value, each.document.path, lines[where])
        layers.append(layer)
    problems.sort(key=lambda problem: (files.index(problem.file), problem.line))
    return Configuration(tuple(layers), tuple(problems), tuple(files))
