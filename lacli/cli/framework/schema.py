"""The options of the commands as keys of a configuration file; no file is read here.

Knowing the keys of one command imports that one; the whole schema imports every command's module, which is for errors
and documents only.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_origin

import typer

from lacli.cli.framework import environment
from lacli.cli.framework.options import Common, with_common
from lacli.configuration.document import Where
from lacli.configuration.keys import Key, Kind, Schema, Table

FREE_OF_IT = ("config", "completion", "spec", "doctor")
"""Commands that must work while a file is broken, to say so or to correct it: no file sets their options."""
FREE = (("keymap",),)
"""Tables that others read and check."""
_NOT_KEYS = ("help", "version", "config", "install")
_CHOICES = re.compile(r"[a-z0-9][a-z0-9-]*(\|[a-z0-9][a-z0-9-]*)+")


_SIZES = {
    "project-mb": Key(
        "project-mb", "number", "Most megabytes kept of one project; 0 keeps nothing.", check=environment.in_range
    ),
    "total-mb": Key("total-mb", "number", "Most megabytes kept of all projects together.", check=environment.in_range),
}
"""Keys that are no options: how much of the disk pools may take."""


def flag(parameter: Any) -> str:
    """The name of an option without dashes, which is its key."""
    return environment.long_name(parameter.opts).lstrip("-")


def options(command: Any) -> list[Any]:
    """The options of a command that can be set in a file."""
    return options_of(command.params)


def options_of(parameters: Iterable[Any]) -> list[Any]:
    """Those of the parameters that can be set in a file."""
    return [
        each
        for each in parameters
        if each.param_type_name == "option" and not each.hidden and flag(each) and flag(each) not in _NOT_KEYS
    ]


def choices(parameter: Any) -> tuple[str, ...]:
    """The values an option has, where they are few."""
    metavar = (parameter.metavar or "").strip("[]")
    return tuple(metavar.split("|")) if _CHOICES.fullmatch(metavar) else ()


def key_of(parameter: Any) -> Key:
    """An option as a key."""
    return Key(
        name=flag(parameter),
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
    return flag(parameter) in COMMON_KEYS and parameter.allow_from_autoenv


def kind(parameter: Any) -> Kind:
    """What a value of this option must be."""
    annotation = parameter.type_descriptor.annotation
    if parameter.nargs not in (1, -1) or get_origin(annotation) is tuple:
        return "list of pairs"
    if parameter.multiple or get_origin(annotation) is list:
        inner = get_args(annotation)
        return "list of pairs" if inner and get_origin(inner[0]) is tuple else "list of texts"
    if parameter.is_flag and not parameter.count:
        return "yes or no"
    if annotation is int or parameter.count:
        return "whole number"
    return "number" if annotation is float else "text"


def table(command: Any) -> dict[str, Key]:
    """The keys of a command's table."""
    return {flag(each): key_of(each) for each in options(command)}


def common() -> Table:
    """The keys of the top level: the options that commands share."""
    return table(command_of_common())


def command_of_common() -> Any:
    """A command of all common options and nothing else."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @with_common()
    def nothing(*, common: Common) -> None:
        """Is never called."""

    return typer.main.get_command(app)


COMMON_KEYS = frozenset(
    field.name.replace("_", "-") for field in dataclasses.fields(Common) if field.name not in _NOT_KEYS
)


def of_command(path: Where, command: Any) -> Schema:
    """What is needed to run one command: the top level, its own table, the sizes of pools.

    Other commands' tables are known by name only. What this finds wrong may be right, as `whole` knows.
    """
    from lacli.cli.framework.group import COMMANDS

    keys: dict[Where, Table] = {path[:length]: {} for length in range(1, len(path))}
    keys |= {(): common(), ("pool",): _SIZES, path: _with_sizes(path, table(command))}
    return Schema(keys, frozenset({*FREE, *((name,) for name in COMMANDS if name not in FREE_OF_IT)}))


def _with_sizes(path: Where, keys: dict[str, Key]) -> Table:
    return keys | _SIZES if path == ("pool",) else keys


def commands() -> Iterator[tuple[Where, Any]]:
    """Every command and group, in the order of the help."""
    from lacli.cli.framework.group import COMMANDS, load

    for name in COMMANDS:
        yield from _walk((name,), load(name))


def _walk(path: Where, command: Any) -> Iterator[tuple[Where, Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _walk((*path, name), inner)


@functools.cache
def whole() -> Schema:
    """Every key there is."""
    keys: dict[Where, Table] = {(): common()}
    for path, command in commands():
        if path[0] in FREE_OF_IT:
            continue
        found = _with_sizes(path, table(command))
        if found or hasattr(command, "commands"):
            keys[path] = found
    return Schema(keys, frozenset(FREE))


def variables() -> list[str]:
    """The variables of all options of all commands."""
    found = [each.envvar for _, command in commands() for each in options(command) if isinstance(each.envvar, str)]
    return sorted(set(found))
