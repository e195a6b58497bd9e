"""What every command has without declaring it: global options, configuration, variables, text that begins with a dash.

The commands' modules declare plain typer apps; `group` has them built here.
"""

from __future__ import annotations

import difflib
import functools
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from lacli.cli.framework import environment, examples
from lacli.cli.framework.options import GLOBAL, command_of_options, typed_before
from lacli.cli.framework.parameters import long_name, value_name
from lacli.cli.framework.typer_private import (
    has_subcommand,
    hide_type,
    parse_for_completion,
    parser_for,
    skip_conversion,
)
from lacli.cli.run import Run
from lacli.errors import LacliError, UsageError

_CONFIGURATION_ERROR = "lacli.configuration_error"


class Node:
    """The part that commands and groups share."""

    params: list[Any]

    def complete_parameters(self) -> None:
        """Add the global options that are missing, and a variable to every option."""
        present = {name for each in self.params for name in each.opts}
        missing = [each for each in global_options() if not present.intersection(each.opts)]
        self.added = [each for each in missing if each.name != "offline"]  # which is for commands that fetch
        self.params = [*self.params, *self.added]
        for each in self.params:
            name = long_name(each.opts)
            is_option = each.param_type_name == "option" and not (each.hidden or each.is_eager)
            if is_option and name and not each.envvar and each.allow_from_autoenv:
                each.envvar, each.show_envvar = environment.name_of(name), False
            if each.param_type_name == "argument" and not each.metavar:
                each.metavar = each.name.upper()
            if each.name == "config":
                each.callback = _read_files

    def make_parser(self, ctx: Any) -> Any:
        """See `typer_private`."""
        return parser_for(self, ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The values of this command's parameters, put into the context."""
        skip_conversion(self.get_params(ctx))  # type: ignore[attr-defined]
        if ctx.resilient_parsing:
            return parse_for_completion(self, ctx, args)
        return list(super().parse_args(ctx, args))  # type: ignore[misc]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The usage line: NAME for an argument that must be there, [NAME] for one that may."""
        pieces = ["[OPTIONS]"]
        for each in self.params:
            if each.param_type_name == "argument":
                name = each.metavar.removesuffix("...")
                name = name[1:-1] if name.startswith("[") and name.endswith("]") else name
                pieces.append((name if each.required else f"[{name}]") + ("..." if each.nargs == -1 else ""))
        tail = getattr(self, "subcommand_metavar", None)
        return [*pieces, tail] if tail else pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options, with what the reference calls their values instead of their types in Python."""
        for each in self.params:
            if each.param_type_name == "argument":
                hide_type(each)
            else:
                each.metavar = value_name(each) or None
        super().format_options(ctx, formatter)  # type: ignore[misc]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, a line each, so that they can be copied; then the rest."""
        shown, rest = examples.split(self.epilog)  # type: ignore[attr-defined]
        if shown:
            with formatter.section("Examples"):
                for line in shown:
                    formatter.write(f"  {line}\n")
        if rest:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(rest)

    def take_added(self, ctx: Any) -> None:
        """Apply the global options, which the command itself does not declare."""
        error = ctx.meta.get(_CONFIGURATION_ERROR)
        if error is not None and not has_subcommand(ctx):  # of a group, the command below it says so
            raise error
        given = {each.name: ctx.params.pop(each.name) for each in self.added}
        for name, value in given.items():
            if environment.was_typed(ctx, name):  # for the command below a group
                ctx.meta[f"lacli.{name}"] = value
        if "quiet" in given:
            Run.of(ctx).set_output(given["quiet"], given["verbose"], given["color"])


def _read_files(context: Any, parameter: Any, value: Any) -> Any:
    """The callback of --config: files are read before the other options, of which they are the defaults."""
    value = typed_before(context, parameter.name, value)
    if not context.resilient_parsing:
        from lacli.cli.framework import layers  # reads TOML, which no help needs

        context.meta.pop(_CONFIGURATION_ERROR, None)  # an error of the group's file, if another file is named after it
        try:
            layers.apply(Run.of(context).config_files, context, value)
        except LacliError as error:  # raised when the command is run: its help is for those who have mistakes, too
            context.meta[_CONFIGURATION_ERROR] = error
    return value


class Command(Node, TyperCommand):
    """A command of lacli."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.complete_parameters()

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        self.take_added(ctx)
        return super().invoke(ctx)


class Group(Node, TyperGroup):
    """A group of commands."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.complete_parameters()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command below that is named first."""
        name, path = args[0], ctx.command_path
        if name in self.commands:
            return name, self.commands[name], args[1:]
        near = difflib.get_close_matches(name, self.commands, 1)
        raise UsageError(
            f"there is no command {path} {name!r}",
            f"did you mean `{path} {near[0]}`?" if near else f"see `{path} --help`",
        )

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands, each with its whole first line: typer cuts it to the screen."""
        lines = [(name, (each.help or "").partition("\n")[0]) for name, each in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(lines)

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
def global_options() -> tuple[Any, ...]:
    """The options that every command has, as `Common` declares them."""
    return tuple(each for each in command_of_options(only=()).params if each.name in GLOBAL)
