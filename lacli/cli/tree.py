"""What every command has without asking for it: the global options, the configuration, variables, text with a dash.

The commands' modules declare plain typer apps; `group` has them built here.
"""

from __future__ import annotations

import functools
from typing import Any

import typer
from typer._click.parser import _OptionParser, _ParsingState  # the version of typer is pinned
from typer.core import TyperCommand, TyperGroup

from lacli.cli import environment
from lacli.cli.options import GLOBAL, Common, configure_streams, with_common

_ADDED = tuple(name for name in GLOBAL if name != "offline")
"""A command that fetches nothing is not given --offline."""


class _Parser(_OptionParser):
    """Takes a token that begins with a dash and can be no option for the text that it is."""

    def _process_opts(self, arg: str, state: _ParsingState) -> None:
        if self._is_text(arg):
            state.largs.append(arg)
        else:
            super()._process_opts(arg, state)

    def _is_text(self, token: str) -> bool:
        """Blanks where an option has its name: `- a list`, `--x is misspelt`, but not `--system=be brief`."""
        name = token.partition("=")[0]
        if token.startswith("--"):
            return any(character.isspace() for character in name)
        known = token[:2] in self._short_opt
        return not known and any(character.isspace() for character in token)


class _Node:
    """The part that commands and groups share."""

    params: list[Any]

    def complete_parameters(self) -> None:
        """Add the global options that are missing, and a variable to every option."""
        present = {name for each in self.params for name in each.opts}
        self.added = [each for each in _global_options() if not present.intersection(each.opts)]
        self.params = [*self.params, *self.added]
        for each in self.params:
            name = environment.long_name(each.opts)
            if each.param_type_name == "option" and name and not (each.envvar or each.hidden or each.is_eager):
                each.envvar = environment.name_of(name)

    def make_parser(self, ctx: Any) -> _OptionParser:
        """The parser of this command's own parameters."""
        parser = _Parser(ctx)
        for each in self.get_params(ctx):  # type: ignore[attr-defined]
            each.add_to_parser(parser, ctx)
        return parser

    def take_added(self, ctx: Any) -> None:
        """Act on the global options, which the command itself knows nothing of."""
        given = {each.name: ctx.params.pop(each.name) for each in self.added}
        for name, value in given.items():
            if environment.typed(ctx, name):  # for the command below a group
                ctx.meta[f"lacli.{name}"] = value
        if "quiet" in given:
            configure_streams(given["quiet"], given["verbose"], given["color"])


class Command(_Node, TyperCommand):
    """A command of lacli."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.complete_parameters()

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        self.take_added(ctx)
        return super().invoke(ctx)


class Group(_Node, TyperGroup):
    """A group of commands."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.complete_parameters()

    def invoke(self, ctx: Any) -> Any:
        """Run it, or the command below that was named."""
        self.take_added(ctx)
        return super().invoke(ctx)


def command_of(app: typer.Typer, name: str) -> Any:
    """The command or group that a module declares."""
    _use_our_classes(app)
    command = typer.main.get_command(app)
    command.name = name
    return command


def _use_our_classes(app: typer.Typer) -> None:
    app.info.cls = Group
    for command in app.registered_commands:
        if not issubclass(command.cls or TyperCommand, Command):
            command.cls = Command
    for group in app.registered_groups:
        group.cls = Group
        if group.typer_instance is not None:
            _use_our_classes(group.typer_instance)


@functools.cache
def _global_options() -> list[Any]:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @with_common(only=())
    def nothing(*, common: Common) -> None:
        """Is never called."""

    return [each for each in typer.main.get_command(app).params if each.name in _ADDED]
