"""The options of the commands as keys of a configuration file; no file is read here.

Knowing the keys of one command imports that one; `whole` imports every command's module, which is for errors and
documents only.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

from lacli.cli.framework import environment
from lacli.cli.framework.commands import COMMANDS
from lacli.cli.framework.options import Common, command_of_options
from lacli.cli.framework.parameters import NOT_KEYS, choices, key_name, kind, settable
from lacli.configuration.document import KeyPath
from lacli.configuration.keys import Key, Schema, Table

UNCONFIGURED = ("config", "completion", "spec", "doctor")
"""Commands that must work while a file is broken, to say so or to correct it: no file sets their options."""
UNCHECKED = (("keymap",), ("remotes",))
"""Tables that others read and check."""

_SIZES = {
    "project-mb": Key(
        "project-mb", "number", "Most megabytes kept of one project; 0 keeps nothing.", check=environment.in_range
    ),
    "total-mb": Key("total-mb", "number", "Most megabytes kept of all projects together.", check=environment.in_range),
    "kv-project-mb": Key(
        "kv-project-mb",
        "number",
        "Most megabytes of the KV cache kept of one project; 0 keeps none.",
        check=environment.in_range,
    ),
    "kv-total-mb": Key(
        "kv-total-mb",
        "number",
        "Most megabytes of KV caches kept of all projects together.",
        check=environment.in_range,
    ),
}
"""Keys that are no options: how much of the disk pools may take."""
COMMON_KEYS = frozenset(
    field.name.replace("_", "-") for field in dataclasses.fields(Common) if field.name not in NOT_KEYS
)


def key_of(parameter: Any) -> Key:
    """An option as a key."""
    return Key(
        name=key_name(parameter),
        kind=kind(parameter),
        help=parameter.help or "",
        choices=choices(parameter),
        default=parameter.default,
        check=getattr(parameter.callback, "check", None),
        counts=parameter.count,
        common=is_common(parameter),
    )


def is_common(parameter: Any) -> bool:
    """Whether the top level of a file sets this option, too; one that takes no variable is content, not a habit."""
    return key_name(parameter) in COMMON_KEYS and bool(parameter.allow_from_autoenv)


def keys_of(command: Any) -> dict[str, Key]:
    """The keys of a command's table."""
    return {key_name(each): key_of(each) for each in settable(command.params)}


@functools.cache
def command_of_common() -> Any:
    """A command of all common options and nothing else."""
    return command_of_options()


def common() -> Table:
    """The keys of the top level: the options that commands share."""
    return keys_of(command_of_common())


def of_command(path: KeyPath, command: Any) -> Schema:
    """What is needed to run one command: the top level, its own table, the sizes of pools.

    Other commands' tables are known by name only. What this finds wrong may be right, as `whole` knows.
    """
    keys: dict[KeyPath, Table] = {path[:length]: {} for length in range(1, len(path))}
    keys |= {(): common(), ("pool",): _SIZES, path: _with_sizes(path, keys_of(command))}
    others = ((name,) for name in COMMANDS if name not in UNCONFIGURED)
    return Schema(keys, frozenset({*UNCHECKED, *others}))


def _with_sizes(path: KeyPath, keys: dict[str, Key]) -> Table:
    return keys | _SIZES if path == ("pool",) else keys


def commands(root: Any) -> Iterator[tuple[KeyPath, Any]]:
    """Every command and group below the `lacli` command, in the order of the help."""
    for name in COMMANDS:
        yield from _walk((name,), root.get_command(None, name))


def _walk(path: KeyPath, command: Any) -> Iterator[tuple[KeyPath, Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _walk((*path, name), inner)


def whole(root: Any) -> Schema:
    """Every key there is."""
    keys: dict[KeyPath, Table] = {(): common()}
    for path, command in commands(root):
        if path[0] in UNCONFIGURED:
            continue
        found = _with_sizes(path, keys_of(command))
        if found or hasattr(command, "commands"):
            keys[path] = found
    return Schema(keys, frozenset(UNCHECKED))


def variables(root: Any) -> list[str]:
    """The variables of all options of all commands."""
    found = {each.envvar for _, command in commands(root) for each in settable(command.params)}
    return sorted(name for name in found if isinstance(name, str))
