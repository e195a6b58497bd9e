"""Puts the values of the configuration files under the options of the command that is called.

What is typed or stands in the environment wins by itself, as typer asks its map of defaults last.
"""

from __future__ import annotations

from typing import Any

from lacli.cli.framework import environment, schema
from lacli.cli.framework.config_files import ConfigFiles
from lacli.cli.framework.parameters import key_name, settable
from lacli.configuration.document import KeyPath
from lacli.configuration.layers import Configuration, layered


def path_of(context: Any) -> KeyPath:
    """The command of a context: ("pool", "info")."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, context.info_name)
        context = context.parent
    return tuple(names)


def apply(files: ConfigFiles, context: Any, named: str | None) -> None:
    """Make the files' values the defaults of this context's command; raise the first mistake found in them."""
    path = path_of(context)
    files.named = named
    if not path:
        return
    found = [] if path[0] in schema.UNCONFIGURED else files.read()
    if not found:
        return
    configuration = layered(found, schema.of_command(path, context.command))
    if configuration.problems:  # all keys there are tell better what is wrong, and that it is
        configuration = layered(found, schema.whole(context.find_root().command))
        configuration.raise_problems()
    files.applied = configuration
    context.default_map = defaults(configuration, path, context.command)
    for key, variable in environment.SIZES.items():
        setting = configuration.get(("pool",), key, common=False)
        if setting is not None:
            files.pool_sizes[variable] = float(setting.value)


def defaults(configuration: Configuration, path: KeyPath, command: Any) -> dict[str, Any]:
    """The values of a command's parameters."""
    found = {}
    for parameter in settable(command.params):
        setting = configuration.get(path, key_name(parameter), common=schema.is_common(parameter))
        if setting is not None:
            found[parameter.name] = setting.value
    return found
