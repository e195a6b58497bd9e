"""Values with their origins, and setting one: what `lacli config show`, `get` and `set` are about.

Finds a command's value as typer would: a variable, a project's file, the user's, what is built in.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacli.cli.framework import catalog, environment, keymap
from lacli.cli.run import Run
from lacli.configuration import remotes
from lacli.configuration.document import KeyPath, parse, read
from lacli.configuration.keys import Key, Schema, check, shown
from lacli.configuration.layers import Configuration, sources_in
from lacli.configuration.trust import refused
from lacli.configuration.write import replace
from lacli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Value:
    """What applies here."""

    table: KeyPath
    key: str
    value: Any
    origin: str
    """built-in, a variable, or a file with the line."""

    @property
    def name(self) -> str:
        """As `config get` and `set` take it."""
        return ".".join((*self.table, self.key))

    def record(self) -> dict[str, Any]:
        """For --json."""
        return {"key": self.name, "value": self.value, "origin": self.origin}


def effective(table: KeyPath) -> list[Value]:
    """The values of a table, in the order of the help. The top level also has what files set for single commands."""
    schema = schema_for(table)
    if table not in schema.keys:
        raise _no_such_table(table, schema)
    configuration = Run.current.config_files.read_against(schema)
    configuration.raise_problems()
    values = [_value(configuration, table, key) for key in schema.keys[table].values()]
    if table:
        return values
    others = [
        Value(where[:-1], where[-1], setting.value, f"{setting.file}:{setting.line}")
        for where, setting in configuration.settings()
        if len(where) > 1
    ]
    return values + sorted(others, key=lambda value: value.name)


def _value(configuration: Configuration, table: KeyPath, key: Key) -> Value:
    variable, value = _from_variable(key) if table[:1] != (remotes.TABLE,) else ("", None)
    if variable:
        return Value(table, key.name, value, variable)
    setting = configuration.get(table, key.name, common=key.common)
    if setting is None:
        return Value(table, key.name, None if key.default == "" else key.default, "built-in")
    return Value(table, key.name, setting.value, f"{setting.file}:{setting.line}")


def variable_of(key: Key) -> str:
    """The variable that sets this key."""
    return environment.SIZES.get(key.name) or environment.name_of(key.name)


def _from_variable(key: Key) -> tuple[str, Any]:
    """The variable that sets this key, and what it sets; as text, where that cannot be read."""
    name = variable_of(key)
    negative = environment.name_of(f"no-{key.name}")
    if key.kind == "yes or no" and environment.is_true(negative):
        return negative, False
    text = os.environ.get(name, "")
    if not text:
        return "", None
    try:
        return name, parse_value(key, text)
    except UsageError:
        return name, text


def parse_value(key: Key, text: str) -> Any:
    """A value as written on a command line, as TOML has it."""
    if not text.isprintable() and text.encode("utf-8", "replace").decode() != text:
        raise UsageError(f"the value of {key.name} is not valid text", "give it in UTF-8")
    if key.kind == "text":
        return text
    if key.kind == "list of texts" and not text.startswith("["):
        return [text]
    yes_no = {"1": True, "yes": True, "on": True, "0": False, "no": False, "off": False}
    if key.kind == "yes or no" and text.lower() in yes_no:
        return yes_no[text.lower()]
    try:
        value = tomllib.loads(f"value = {text.lower() if key.kind == 'yes or no' else text}")["value"]
    except (tomllib.TOMLDecodeError, ValueError):
        value = text
    return value


def parse_key(name: str) -> KeyPath:
    """Find a key by its dotted name. Raises UsageError with the nearest name."""
    where = tuple(name.split("."))
    schema = schema_for(where)
    if where[:-1] in schema.keys and where[-1] in schema.keys[where[:-1]]:
        return where
    known = [".".join((*table, key)) for table, keys in schema.keys.items() for key in keys]
    near = difflib.get_close_matches(name.replace("_", "-"), known, 1, 0.0)[0]
    raise UsageError(f"there is no key {name!r}", f"did you mean {near}?")


def schema_for(where: KeyPath) -> Schema:
    """All keys; those of [keymap], which only the terminal UI knows, or of a remote, if `where` is in that table."""
    schema = catalog.whole()
    if where[:1] == (remotes.TABLE,):
        names = {*_remotes(), *where[1:2]}
        return Schema({**schema.keys, **remotes.schema(names)}, schema.tables - {(remotes.TABLE,)})
    if where[:1] != (keymap.TABLE,):
        return schema
    return Schema({**schema.keys, (keymap.TABLE,): keymap.keys()}, schema.tables - {(keymap.TABLE,)})


def _remotes() -> list[str]:
    """The names of the user's remotes, right or wrong."""
    files = Run.current.config_files.read()
    return [name for each in files if each.kind == "user" for name in remotes.names_in(each.document.data)]


def _no_such_table(table: KeyPath, schema: Schema) -> UsageError:
    known = [" ".join(each) for each in schema.keys if each]
    name = " ".join(table)
    near = difflib.get_close_matches(name, known, 1, 0.0)
    return UsageError(f"there is no command {name!r}", f"did you mean {near[0]}?" if near else "")


def set_value(file: Path, name: str, text: str, project: bool) -> str:
    """Set a key in a file; returns a message. Nothing is written if the value or the file is invalid."""
    where = parse_key(name)
    schema = schema_for(where)
    value = parse_value(schema.keys[where[:-1]][where[-1]], text)
    there = os.path.lexists(file)
    document = read(file) if there else parse(file, b"")
    root = sources_in(file)[0].root if there else ()
    if project and (why := refused(where[-1], value)) is not None:
        raise UsageError(*why)
    changed = document.changed(root + where, value)
    new = parse(file, changed.encode())
    result = check(new, schema, root)
    problems = result.problems or remotes.checked(new)[1]
    if where[0] == keymap.TABLE and not problems:
        set_ = {place[-1]: keys for place, keys in result.values.items() if place[0] == keymap.TABLE}
        problems = list(keymap.clashes(new, set_))
    if problems:
        # A mistake elsewhere in the file is named as well: with it, the new value would not be read either.
        text = problems[0].text
        line = problems[0].line
        if line == new.line(root + where):
            raise UsageError(text, problems[0].hint)
        raise UsageError(f"{file}:{line}: {text}", problems[0].hint)
    bom = b"\xef\xbb\xbf" if document.bom else b""
    replace(file, bom + changed.encode(), private=not project)
    return (
        f"{name} = {json.dumps(value, ensure_ascii=False)} in {file} (was {shown(_old(document.data, root + where))})"
    )


def _old(data: Any, where: KeyPath) -> Any:
    for part in where:
        data = data.get(part) if isinstance(data, dict) else None
    return data
