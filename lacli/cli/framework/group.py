"""The command table, and a group that imports a command's module only when that command is called.

Every module named here has `app`, a `typer.Typer` with one command or several.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from lacli import __version__
from lacli.cli.terminal.output import StdoutClosed
from lacli.errors import UsageError


class Entry(NamedTuple):
    """A command: where it is, and the line `lacli --help` shows."""

    module: str
    help: str


COMMANDS = {
    "ask": Entry("lacli.cli.ask.command", "One question, one answer; piped stdin is its content."),
    "chat": Entry("lacli.cli.chat.command", "Talk with the model about your code."),
    "tui": Entry("lacli.cli.tui.command", "Chat beside live numbers of decoding, on the whole screen."),
    "complete": Entry("lacli.cli.complete.command", "Print what belongs at a place in a file."),
    "edit": Entry("lacli.cli.edit.command", "Rewrite a file, or lines of it, by an instruction."),
    "models": Entry("lacli.cli.models.command", "List, show and fetch models."),
    "pool": Entry("lacli.cli.pool.command", "Show, check, build, share or clear what a project has taught the drafts."),
    "sessions": Entry(
        "lacli.cli.sessions.command", "List, show, search, export and delete what was asked and answered."
    ),
    "logs": Entry("lacli.cli.logs.command", "Whether sessions are kept, and where."),
    "stats": Entry("lacli.cli.stats.command", "What guessing brought, week by week."),
    "templates": Entry("lacli.cli.templates.command", "Questions to ask again, with places to fill in."),
    "config": Entry("lacli.cli.config.command", "Show, check and change the configuration files."),
    "completion": Entry("lacli.cli.completion.command", "Complete lacli's command line with Tab, in your shell."),
    "doctor": Entry("lacli.cli.doctor.command", "What is right and wrong on this computer, and what to do."),
    "spec": Entry("lacli.cli.spec.command", "The whole command line as JSON."),
    "bench": Entry(
        "lacli.cli.bench.command", "Measure lookahead against plain decoding, and check that the texts are equal."
    ),
}

_EPILOG = """
Examples:

  lacli ask 'What does os.replace do?'

  git diff | lacli ask 'write a commit message'

  lacli complete app.py:42

  lacli completion --install

Every option can be set by a variable, --top-p by LACLI_TOP_P, and in a file: see `lacli config --help`.
"""


def load(name: str) -> Any:
    """A command of the table, imported now."""
    from lacli.cli.framework.tree import command_of

    return command_of(importlib.import_module(COMMANDS[name].module).app, name)


class LazyGroup(TyperGroup):
    """The `lacli` command; knows its commands from the table and imports none to list them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name = args[0]
        if name in COMMANDS:
            return name, self.get_command(ctx, name), args[1:]
        near = difflib.get_close_matches(name, COMMANDS, 1)
        remedy = f"did you mean `lacli {near[0]}`?" if near else "see `lacli --help`; a question is `lacli ask '...'`"
        raise UsageError(f"there is no command {name!r}", remedy)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As the commands do it."""
        from lacli.cli.framework.tree import parse_for_completion

        return parse_for_completion(self, ctx, args) if ctx.resilient_parsing else super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The commands and their lines from the table; the options from typer."""
        from typer._click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=entry.help) for name, entry in COMMANDS.items()]
        options = TyperCommand.shell_complete(self, ctx, incomplete)
        return [item for item in found if item.value.startswith(incomplete)] + options

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """As the commands do it."""
        from lacli.cli.framework.tree import Node

        Node.format_epilog(self, ctx, formatter)  # type: ignore[arg-type]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lacli {__version__}")
        raise typer.Exit


_HELP_NAMES = {"help_option_names": ["-h", "--help"]}
application = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings=_HELP_NAMES,
    epilog=_EPILOG,
)


@application.callback()
def root(
    context: typer.Context,
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No notes on stderr."),
    verbose: int = typer.Option(
        0, "--verbose", "-v", count=True, show_default=False, help="Print statistics; twice: tracebacks too."
    ),
    config: str | None = typer.Option(
        None, "--config", metavar="PATH", help="Read this configuration file and no other."
    ),
    color: str = typer.Option("auto", "--color", metavar="auto|always|never", help="Colours on the terminal."),
    offline: bool = typer.Option(False, "--offline", help="Use only what is on this computer."),
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """A local coding assistant: the model's own text, in fewer steps.

    The options below may stand before a command's name or behind it.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit
    from lacli.cli.framework import environment, options, schema
    from lacli.cli.framework import layers as configured

    configured.start()
    options.configure_streams(quiet, verbose, color)
    environment.warn_of_unknown(options.VARIABLES, schema.variables)


def run(arguments: Sequence[str] | None) -> int:
    """Parse and run; typer's own errors become ours, so that every failure looks the same."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    if args[:2] == ["completion", "--answer"]:  # a Tab does not wait for anything to be parsed
        from lacli.cli.completion.command import answer

        return answer(args[2:])
    group = typer.main.get_command(application)
    try:
        with group.make_context("lacli", args) as context:
            group.invoke(context)
    except typer.Exit as done:
        if done.exit_code == 0 and sys.stdout is None:  # of a help or the version, which typer then writes nowhere
            raise StdoutClosed from None
        return done.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except typer.TyperException as error:
        translated = usage_error(error)
        if any(token.startswith("-") and " " in token for token in args) and _DASH not in translated.hint:
            translated.hint += _DASH
        raise translated from None
    return 0


_DASH = " (text that begins with a dash goes after --)"


def usage_error(error: typer.TyperException) -> UsageError:
    """One line with the remedy instead of typer's usage block."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "lacli"
    message = error.format_message().rstrip(".")
    unknown = getattr(error, "option_name", None)
    near = getattr(error, "possibilities", None)
    if unknown is not None and message.startswith("No such option"):
        names = {each.lstrip("-"): each for each in near or ()}  # dashes alone make nothing alike
        nearest = difflib.get_close_matches(unknown.lstrip("-"), names, 1)
        remedy = f"did you mean {names[nearest[0]]}?" if nearest else f"see `{command} --help`"
        dash = "" if command == "lacli" else _DASH
        return UsageError(f"no such option {unknown}", remedy + dash)
    problem = _problem(error)
    if problem:
        message = f"{_given_by(error)}: {problem}"
    elif message[1:2].islower():
        message = message[:1].lower() + message[1:]
    return UsageError(message, f"see `{command} --help`")


_WRONG = {
    "float_parsing": "is not a number",
    "int_parsing": "is not a whole number",
    "int_parsing_size": "is not a whole number of reasonable size",
    "bool_parsing": "says neither yes nor no (1 or 0)",
}
"""What pydantic, which reads values for typer, calls a mistake, in words."""


def _problem(error: typer.TyperException) -> str:
    """What is wrong with the text of a value, or nothing where typer's own words serve."""
    found: list[Any] = getattr(error.__cause__, "errors", list)()
    words = _WRONG.get(found[0]["type"]) if found else None
    return f"{found[0]['input']!r} {words}" if words else ""


def _given_by(error: Any) -> str:
    """The variable, the line of a file or the option that gave the value."""
    from lacli.cli.framework import environment, schema
    from lacli.cli.framework import layers as configured

    parameter = error.param
    if environment.configured(error.ctx, parameter.name):
        setting = configured.current().get(configured.path_of(error.ctx), schema.flag(parameter))
        if setting is not None:
            return f"{setting.file}:{setting.line}: {schema.flag(parameter)}"
    return str(parameter.envvar if environment.gave(error.ctx, parameter.name) else parameter.opts[0])
