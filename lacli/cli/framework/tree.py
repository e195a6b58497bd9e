"""What every command has without asking for it: the global options, the configuration, variables, text with a dash.

The commands' modules declare plain typer apps; `group` has them built here.
"""

from __future__ import annotations

import difflib
import functools
from typing import Any

import typer
from typer._click.core import ParameterSource
from typer._click.parser import _OptionParser, _ParsingState  # the version of typer is pinned
from typer.core import TyperCommand, TyperGroup

from lacli.cli.framework import environment, examples
from lacli.cli.framework.options import CONFIGURATION_ERROR, GLOBAL, Common, configure_streams, with_common
from lacli.errors import UsageError

_ADDED = tuple(name for name in GLOBAL if name != "offline")
"""A command that fetches nothing is not given --offline."""


class _Parser(_OptionParser):
    """Takes a token that begins with a dash and can be no option for the text that it is."""

    def _process_opts(self, arg: str, state: _ParsingState) -> None:
        if self._is_text(arg):
            state.largs.append(arg)
            return
        try:
            super()._process_opts(arg, state)
        except typer.TyperException as error:
            error.ctx = getattr(error, "ctx", None) or self.ctx  # type: ignore[attr-defined]  # tells whose help helps
            raise

    def _is_text(self, token: str) -> bool:
        """Blanks where an option has its name: `- a list`, `--x is misspelt`, but not `--system=be brief`."""
        name = token.partition("=")[0]
        if token.startswith("--"):
            return any(character.isspace() for character in name)
        known = token[:2] in self._short_opt
        return not known and any(character.isspace() for character in token)


class Node:
    """The part that commands and groups share."""

    params: list[Any]

    def complete_parameters(self) -> None:
        """Add the global options that are missing, and a variable to every option."""
        present = {name for each in self.params for name in each.opts}
        self.added = [each for each in _global_options() if not present.intersection(each.opts)]
        self.params = [*self.params, *self.added]
        for each in self.params:
            name = environment.long_name(each.opts)
            is_option = each.param_type_name == "option" and not (each.hidden or each.is_eager)
            if is_option and name and not each.envvar and each.allow_from_autoenv:
                each.envvar, each.show_envvar = environment.name_of(name), False
            if each.param_type_name == "argument" and not each.metavar:
                each.metavar = each.name.upper()

    def make_parser(self, ctx: Any) -> _OptionParser:
        """The parser of this command's own parameters."""
        parser = _Parser(ctx)
        for each in self.get_params(ctx):  # type: ignore[attr-defined]
            each.add_to_parser(parser, ctx)
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The values of this command's parameters, put into the context."""
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
        from lacli.cli.spec.command import value_name

        for each in self.params:
            if each.param_type_name == "argument":
                each.display_type_rich = lambda ctx: None
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
        """Act on the global options, which the command itself knows nothing of."""
        error = ctx.meta.get(CONFIGURATION_ERROR)
        if error is not None and not ctx._protected_args:  # of a group, the command below it says so
            raise error
        given = {each.name: ctx.params.pop(each.name) for each in self.added}
        for name, value in given.items():
            if environment.typed(ctx, name):  # for the command below a group
                ctx.meta[f"lacli.{name}"] = value
        if "quiet" in given:
            configure_streams(given["quiet"], given["verbose"], given["color"])


def parse_for_completion(command: Any, ctx: Any, args: list[str]) -> list[str]:
    """What a shell that asks for a completion must know: what was typed, as text. Reading values would cost a
    tenth of a second for pydantic alone, and none of them is used."""
    parser = command.make_parser(ctx)
    found, rest, _ = parser.parse_args(args=args)
    for each in command.get_params(ctx):
        ctx.params[each.name] = found.get(each.name)
        source = "COMMANDLINE" if found.get(each.name) is not None else "DEFAULT"
        ctx.set_parameter_source(each.name, ParameterSource[source])
    ctx._opt_prefixes.update(parser._opt_prefixes)
    ctx._protected_args, ctx.args = (rest[:1], rest[1:]) if hasattr(command, "commands") else ([], rest)
    return list(rest)


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
def _global_options() -> list[Any]:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @with_common(only=())
    def nothing(*, common: Common) -> None:
        """Is never called."""

    return [each for each in typer.main.get_command(app).params if each.name in _ADDED]
