"""The `lacli` command: a group that imports a command's module only when that command is called, and how it is run."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from lacli import __version__
from lacli.cli.framework import environment, options
from lacli.cli.framework.commands import COMMANDS
from lacli.cli.framework.tree import Node, command_of, global_options
from lacli.cli.framework.typer_private import completion_item, without_variable
from lacli.cli.run import Run
from lacli.cli.terminal.output import StdoutClosed
from lacli.errors import UsageError

_EPILOG = """
Examples:

  lacli ask 'What does os.replace do?'

  git diff | lacli ask 'write a commit message'

  lacli complete app.py:42

  lacli completion --install

Every option can be set by a variable, --top-p by LACLI_TOP_P, and in a file: see `lacli config --help`.
"""


class LazyGroup(Node, TyperGroup):
    """Knows its commands from the table and imports none to list them."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        in_order = sorted(global_options(), key=lambda each: options.GLOBAL.index(each.name))
        self.added = without_variable(in_order)  # the command that is called reads their variables
        self.params = [*self.added, *self.params]

    def make_parser(self, ctx: Any) -> Any:
        """As typer has it: a token before the command's name is no text."""
        return TyperGroup.make_parser(self, ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return command_of(importlib.import_module(COMMANDS[cmd_name].module).app, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name = args[0]
        if name in COMMANDS:
            return name, self.get_command(ctx, name), args[1:]
        near = difflib.get_close_matches(name, COMMANDS, 1)
        remedy = f"did you mean `lacli {near[0]}`?" if near else "see `lacli --help`; a question is `lacli ask '...'`"
        raise UsageError(f"there is no command {name!r}", remedy)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The commands and their lines from the table; the options from typer."""
        found = [completion_item(name, command.help) for name, command in COMMANDS.items()]
        options = TyperCommand.shell_complete(self, ctx, incomplete)
        return [item for item in found if item.value.startswith(incomplete)] + options

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        self.take_added(ctx)
        return super().invoke(ctx)


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
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """A local coding assistant: the model's own text, in fewer steps.

    The options below may stand before a command's name or behind it.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit
    environment.warn_of_unknown(options.variables(), lambda: _all_variables(context.command))


def _all_variables(command: Any) -> list[str]:
    from lacli.cli.framework import schema

    return schema.variables(command)


def invoke(run: Run, args: Sequence[str]) -> int:
    """Parse and run; typer's own errors become ours, so that every failure looks the same."""
    group = typer.main.get_command(application)
    try:
        with group.make_context("lacli", list(args), obj=run) as context:
            group.invoke(context)
    except typer.Exit as done:
        if done.exit_code == 0 and sys.stdout is None:  # of a help or the version, which typer then writes nowhere
            raise StdoutClosed from None
        return done.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except typer.TyperException as error:
        from lacli.cli.framework.usage_errors import usage_error

        raise usage_error(error, args) from None
    return 0
