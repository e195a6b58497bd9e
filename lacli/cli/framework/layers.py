"""The configuration of this run: which files apply, read once, put under the options of the command that is called.
What is typed or stands in the environment wins by itself, as typer asks its map of defaults last.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lacli import paths
from lacli.cli.framework import environment
from lacli.configuration.document import Where
from lacli.configuration.keys import Schema
from lacli.configuration.layers import PROJECT_FILE, Configuration, Found, files_of, layered, project_files, user_file
from lacli.errors import ModelUnavailable


class _State:
    """What applies in this run of the program."""

    current = Configuration()
    named: str | None = None
    """The file of --config."""
    folder: Path | None = None
    """Whose project it is; None is the current folder."""


_state = _State()


def start() -> None:
    """Forget what an earlier run in this process has read."""
    _state.current = Configuration()
    _state.named = None
    _state.folder = None
    environment.configured_sizes.clear()


def look_in(folder: Path) -> None:
    """Have the project's file looked for in this folder, and not in the current one: before any option is read."""
    _state.folder = Path(os.path.realpath(os.path.expanduser(folder)))


def go_to(folder: Path) -> None:
    """Make this the current folder; a file that was named stays where it is. Raises OSError."""
    named = _state.named and os.path.abspath(os.path.expanduser(_state.named))
    os.chdir(os.path.expanduser(folder))
    _state.named = named


def current() -> Configuration:
    """What was applied last."""
    return _state.current


def config_file() -> Path:
    """Where the user's file is, or would be."""
    return Path(os.path.expanduser(_state.named)) if _state.named else paths.config_dir() / "config.toml"


def found_files() -> list[Found]:
    """The files that apply here, the strongest first. Raises where one cannot be read.

    One that was named is the only one: so a project whose file is broken, or not to be trusted, can be worked in.
    """
    if _state.named:
        return user_file(config_file(), named=True)
    found = project_files(project_folders())
    try:
        return found + user_file(config_file(), named=False)
    except ModelUnavailable:  # no home: then there is no file either
        return found


def files_here() -> list[Path]:
    """The same, not read yet: for a report of what is wrong with each."""
    if _state.named:
        return [config_file()]
    found: list[Path] = []
    for folder in project_folders():
        found = files_of(folder)
        if found:
            break
    user = config_file()
    return found + ([user] if os.path.lexists(user) else [])


def project_folders() -> list[Path]:
    """The folders a project's file is looked for in, from this one up to the top of the checkout."""
    try:
        here = _state.folder or Path.cwd()
    except OSError:  # the current folder has been deleted
        return []
    places = [here, *here.parents]
    if not any(os.path.lexists(folder / name) for folder in places for name in (PROJECT_FILE, "pyproject.toml")):
        return []
    from lacli.project.root import checkout, project_root

    top = checkout(here) or project_root(here)
    if top is None or top not in places:
        return []
    return places[: places.index(top) + 1]


def path_of(context: Any) -> Where:
    """The command of a context: ("pool", "info")."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, context.info_name)
        context = context.parent
    return tuple(names)


def apply(context: Any, named: str | None) -> None:
    """Make the files' values the defaults of this context's command; raise the first mistake found in them."""
    path = path_of(context)
    _state.named = named
    if not path:
        return
    from lacli.cli.framework import schema

    found = [] if path[0] in schema.FREE_OF_IT else found_files()
    if not found:
        return
    configuration = layered(found, schema.of_command(path, context.command))
    if configuration.problems:  # all keys there are tell better what is wrong, and that it is
        configuration = layered(found, schema.whole())
        configuration.raise_problems()
    _state.current = configuration
    context.default_map = defaults(configuration, path, context.command)
    _take_sizes(configuration)


def defaults(configuration: Configuration, path: Where, command: Any) -> dict[str, Any]:
    """The values of a command's parameters."""
    from lacli.cli.framework import schema

    found = {}
    for parameter in schema.options(command):
        key = schema.flag(parameter)
        setting = configuration.get(path, key, common=schema.is_common(parameter))
        if setting is not None:
            found[parameter.name] = setting.value
    return found


def _take_sizes(configuration: Configuration) -> None:
    for key, variable in environment.SIZES.items():
        setting = configuration.get(("pool",), key, common=False)
        if setting is not None:
            environment.configured_sizes[variable] = float(setting.value)


def load(schema: Schema) -> Configuration:
    """All files against all keys, mistakes kept; for the commands that show and check them."""
    return layered(found_files(), schema)
