"""The configuration files that apply, their precedence, and where each value comes from.

A project's file wins over the user's; in each, the command's own table wins over the top level. Options on the command
line and in the environment win over both, which Typer takes care of.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lacli.configuration.document import Document, KeyPath, read
from lacli.configuration.keys import ConfigProblem, Schema, check
from lacli.configuration.trust import USER_TABLES, refused
from lacli.errors import UsageError

PROJECT_FILE = "lacli.toml"
_PYPROJECT = ("tool", "lacli")


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """A file that applies."""

    kind: Literal["user", "project"]
    document: Document
    root: KeyPath = ()
    """The table of the file that is lacli's: [tool.lacli] of a pyproject.toml."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it is set."""

    value: Any
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of all files, those that win first."""

    layers: tuple[dict[KeyPath, Setting], ...] = ()
    problems: tuple[ConfigProblem, ...] = ()
    files: tuple[Path, ...] = ()

    def get(self, command: KeyPath, key: str, common: bool = True) -> Setting | None:
        """The setting of a command's option; `common` ones may be set at the top level, too."""
        for layer in self.layers:
            for where in [(*command, key), (key,)] if common else [(*command, key)]:
                if where in layer:
                    return layer[where]
        return None

    def settings(self) -> Iterator[tuple[KeyPath, Setting]]:
        """Every setting that no other file overrides."""
        seen: set[KeyPath] = set()
        for layer in self.layers:
            for where, setting in layer.items():
                if where not in seen:
                    seen.add(where)
                    yield where, setting

    def raise_problems(self) -> None:
        """Raise the first problem, and say how many more there are."""
        if self.problems:
            error = self.problems[0].to_error()
            more = len(self.problems) - 1
            others = f"; {more} more: see `lacli config validate`" if more else ""
            raise UsageError(error.message, error.hint + others)


def project_files(folders: Iterable[Path]) -> list[ConfigSource]:
    """The project's file in the nearest of these folders that has one. Raises UsageError if it has two."""
    for folder in folders:
        own, shared = folder / PROJECT_FILE, folder / "pyproject.toml"
        found = [ConfigSource("project", read(own))] if os.path.lexists(own) else []
        if os.path.lexists(shared) and (document := _configured(shared)) is not None:
            found.append(ConfigSource("project", document, _PYPROJECT))
        if len(found) == 2:
            line = found[1].document.line(_PYPROJECT)
            raise UsageError(f"{shared}:{line}: {own} configures this project, too", "keep one of them")
        if found:
            return found
    return []


def _configured(path: Path) -> Document | None:
    """A pyproject.toml that configures lacli; others may be as broken as they like."""
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
    """The files in this folder that configure lacli, broken ones included."""
    own, shared = folder / PROJECT_FILE, folder / "pyproject.toml"
    try:
        configures = os.path.lexists(shared) and _configured(shared) is not None
    except UsageError:
        configures = True
    return ([own] if os.path.lexists(own) else []) + ([shared] if configures else [])


def sources_in(path: Path) -> list[ConfigSource]:
    """One file by itself; its name says whether it is a project's or the user's."""
    if path.name == "pyproject.toml":
        return [ConfigSource("project", read(path), _PYPROJECT)]
    return [ConfigSource("project" if path.name == PROJECT_FILE else "user", read(path))]


def user_file(path: Path, named: bool) -> list[ConfigSource]:
    """The user's file, if there is one; if it was `named` by the user, it must exist."""
    return [ConfigSource("user", read(path))] if named or os.path.lexists(path) else []


def _tables_of_the_user(found: ConfigSource) -> list[ConfigProblem]:
    """The tables of a project's file that only the user's own may have."""
    data = found.document.below(found.root)
    there = [name for name in USER_TABLES if isinstance(data, dict) and name in data]
    return [
        ConfigProblem(found.document.path, found.document.line((*found.root, name)), f"a project may not set [{name}]")
        for name in there
    ]


def layered(found: Iterable[ConfigSource], schema: Schema) -> Configuration:
    """Check the files and merge them in order of precedence."""
    layers: list[dict[KeyPath, Setting]] = []
    problems: list[ConfigProblem] = []
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
                problems.append(ConfigProblem(each.document.path, lines[where], text, hint))
            else:
                layer[where] = Setting(value, each.document.path, lines[where])
        layers.append(layer)
    problems.sort(key=lambda problem: (files.index(problem.file), problem.line))
    return Configuration(tuple(layers), tuple(problems), tuple(files))
