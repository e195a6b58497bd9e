"""The table [keymap] of the user's file: which action of the terminal UI has which keys.

The terminal UI knows its actions and keys, and is imported by name, only where there is such a table or somebody asks.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterable
from typing import Any

from lacli.configuration.keys import Checked, Key, Schema, Table, check
from lacli.configuration.layers import Found

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


def stands_in(found: Found) -> bool:
    """Whether this file has the table, and may have it."""
    return found.kind == "user" and TABLE in found.document.data


def of_user(files: Iterable[Found]) -> dict[str, str]:
    """What the user's file says, by actions. Raises the first mistake in it."""
    for found in filter(stands_in, files):
        told = checked(found)
        for problem in told.problems:
            raise problem.error()
        return {where[-1]: keys for where, keys in told.values.items()}
    return {}


def checked(found: Found) -> Checked:
    """What the table of a file says, and what is wrong with it."""
    only = dataclasses.replace(found.document, data={TABLE: found.document.data[TABLE]})
    return check(only, Schema({(): {}, (TABLE,): keys()}))
