"""The table [keymap] of the user's file: which action of the terminal UI has which keys.

The terminal UI knows its actions and keys, and is imported by name, only where there is such a table or somebody asks.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lacli.configuration.document import Document
from lacli.configuration.keys import CheckedDocument, ConfigProblem, Key, Schema, Table, check
from lacli.configuration.layers import ConfigSource

TABLE = "keymap"


@functools.cache
def keys() -> Table:
    """An entry for each action, which takes its keys."""
    ui: Any = importlib.import_module("lacli_tui.actions")

    def of(action: Any) -> Key:
        def checked(name: str, value: Any) -> Any:
            ui.checked_keymap({action.id: value})
            return value

        return Key(action.id, "text", action.title, default=action.keys, check=checked)

    return {action.id: of(action) for action in ui.ACTIONS}


def has_table(found: ConfigSource) -> bool:
    """Whether this file has the table, and may have it."""
    return found.kind == "user" and TABLE in found.document.data


def of_user(files: Iterable[ConfigSource]) -> dict[str, str]:
    """What the user's file says, by actions. Raises the first mistake in it."""
    for found in filter(has_table, files):
        result = checked(found)
        for problem in result.problems:
            raise problem.to_error()
        return {where[-1]: keys for where, keys in result.values.items()}
    return {}


def checked(found: ConfigSource) -> CheckedDocument:
    """What the table of a file says, and what is wrong with it."""
    only = dataclasses.replace(found.document, data={TABLE: found.document.data[TABLE]})
    result = check(only, Schema({(): {}, (TABLE,): keys()}))
    result.problems += clashes(found.document, {where[-1]: keys_ for where, keys_ in result.values.items()})
    return result


def clashes(document: Document, keymap: Mapping[str, str]) -> Iterator[ConfigProblem]:
    """Problems with valid keys that another action has, too, or that never arrive."""
    ui: Any = importlib.import_module("lacli_tui.keymap")
    for id_ in keymap:
        error = ui.collision(keymap, id_)
        if error is not None:
            yield ConfigProblem(document.path, document.line((TABLE, id_)), error.message, error.hint)


def rows() -> list[tuple[str, str, str, str]]:
    """Of every action its name, its keys, what it does, and where the keys work."""
    ui: Any = importlib.import_module("lacli_tui.keymap")
    return list(ui.rows())
