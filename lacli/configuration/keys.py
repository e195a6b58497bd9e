"""The schema of a configuration file, and checking a file against it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lacli.configuration.document import Document, KeyPath, literal
from lacli.errors import UsageError

Kind = Literal["yes or no", "whole number", "number", "text", "list of texts", "list of pairs"]
_MOST_PROBLEMS = 50
"""Each unknown key is compared with all known ones, and a file may have thousands."""
Check = Callable[[str, Any], Any]
"""Takes the name for the message and the value; raises if the value is out of range."""


@dataclass(frozen=True, slots=True)
class Key:
    """One option as a key."""

    name: str
    kind: Kind
    help: str = ""
    choices: tuple[str, ...] = ()
    default: Any = None
    check: Check | None = None
    counts: bool = False
    """Whether it can be repeated on the command line, like -v; true counts as 1 in a file."""
    common: bool = False
    """Whether the top level may set it for all commands."""

    def takes(self, value: Any) -> bool:
        """Whether the value is of the right type."""
        if self.kind == "yes or no" or (self.counts and isinstance(value, bool)):
            return isinstance(value, bool)
        if self.kind == "whole number":
            return isinstance(value, int) and not isinstance(value, bool)
        if self.kind == "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        if self.kind == "text":
            return isinstance(value, str)
        if self.kind == "list of texts":
            return isinstance(value, str) or _all(value, str)
        return _all(value, list) and all(_all(pair, str) and len(pair) == 2 for pair in value)

    def read(self, value: Any) -> Any:
        """The value as the command takes it."""
        if self.kind == "list of texts" and isinstance(value, str):
            return [value]
        return int(value) if self.counts else value


def _all(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


Table = Mapping[str, Key]


@dataclass(frozen=True, slots=True)
class Schema:
    """The known keys by table; () is the top level."""

    keys: Mapping[KeyPath, Table]
    tables: frozenset[KeyPath] = frozenset()
    """Tables that are allowed and not checked."""

    def below(self, table: KeyPath) -> list[str]:
        """The names of the tables inside this one."""
        known = {*self.keys, *self.tables}
        return sorted({each[len(table)] for each in known if len(each) > len(table) and each[: len(table)] == table})


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One mistake in a configuration file."""

    file: Path
    line: int
    text: str
    hint: str = ""

    def to_error(self) -> UsageError:
        """The problem as an exception."""
        return UsageError(f"{self.file}:{self.line}: {self.text}", self.hint)


@dataclass(slots=True)
class CheckedDocument:
    """The values of a file, and what is wrong in it."""

    values: dict[KeyPath, Any] = field(default_factory=dict)
    problems: list[ConfigProblem] = field(default_factory=list)


def check(document: Document, schema: Schema, root: KeyPath = ()) -> CheckedDocument:
    """Check the table `root` of the file against the known keys."""
    data = document.below(root)
    found = CheckedDocument()
    if not isinstance(data, dict):
        found.problems.append(ConfigProblem(document.path, document.line(root), f"{'.'.join(root)} must be a table"))
        return found
    for where, value, problem in _walk(data, schema, ()):
        if len(found.problems) == _MOST_PROBLEMS:
            break
        line = document.line(root + where)
        if problem is None:
            key = schema.keys[where[:-1]][where[-1]]
            try:
                if key.check is not None:
                    key.check(f"{document.path}:{line}: {'.'.join(where)}", key.read(value))
                found.values[where] = key.read(value)
            except UsageError as error:
                text = error.message.removeprefix(f"{document.path}:{line}: ")
                found.problems.append(ConfigProblem(document.path, line, text, error.hint))
        else:
            found.problems.append(ConfigProblem(document.path, line, *problem))
    return found


def _walk(
    data: Mapping[str, Any], schema: Schema, table: KeyPath
) -> Iterator[tuple[KeyPath, Any, tuple[str, str] | None]]:
    known, inner = schema.keys[table], schema.below(table)
    for name, value in data.items():
        where = (*table, name)
        if name in known and not (name in inner and isinstance(value, dict)):
            key = known[name]
            yield where, value, None if key.takes(value) else _wrong_type(where, key, value)
        elif name in inner:
            if not isinstance(value, dict):
                yield where, value, (f"{'.'.join(where)} must be a table", f"write [{'.'.join(where)}] above its keys")
            elif where in schema.keys:
                yield from _walk(value, schema, where)
        else:
            yield where, value, _unknown(where, schema)


def _wrong_type(where: KeyPath, key: Key, value: Any) -> tuple[str, str]:
    given = repr(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else shown(value)
    article = "" if key.kind == "yes or no" else "a "
    remedy = {
        "yes or no": "write true or false, without quotes",
        "text": "write it between quotes",
        "list of texts": 'write ["one", "two"]',
        "list of pairs": 'write [["name", "value"]]',
    }.get(key.kind, "write the number without quotes")
    return f"{'.'.join(where)} must be {article}{key.kind}, and is {given}", remedy


def _unknown(where: KeyPath, schema: Schema) -> tuple[str, str]:
    *table, name = where
    place = f"[{'.'.join(table)}]" if table else "the top level"
    text = f"there is no key {name!r}" + (f" in {place}" if table else "")
    others = [other for other, keys in schema.keys.items() if name in keys]
    if others:
        homes = " or ".join(f"[{'.'.join(other)}]" if other else "the top level" for other in others[:3])
        return text, f"it belongs in {homes}"
    known = [*schema.keys[tuple(table)], *schema.below(tuple(table))]
    near = difflib.get_close_matches(name.replace("_", "-"), known, 1, 0.0)
    return text, f"did you mean {near[0]}?" if near else ""


def shown(value: Any) -> str:
    """A value for people."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(shown(each) for each in value) or "none"
    text = str(value)
    return text if text and text.isprintable() else literal(text)
