"""The table of commands: where each is, and its line in `lacli --help`. Nothing is imported here.

Every module named has `app`, a `typer.Typer` with one command or several.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandInfo(NamedTuple):
    """A command that has not been imported yet."""

    module: str
    help: str


COMMANDS = {
    "ask": CommandInfo("lacli.cli.ask.command", "One question, one answer; piped stdin is its content."),
    "chat": CommandInfo("lacli.cli.chat.command", "Talk with the model about your code."),
    "tui": CommandInfo("lacli.cli.tui.command", "Chat beside live numbers of decoding, on the whole screen."),
    "complete": CommandInfo("lacli.cli.complete.command", "Print what belongs at a place in a file."),
    "edit": CommandInfo("lacli.cli.edit.command", "Rewrite a file, or lines of it, by an instruction."),
    "acp": CommandInfo("lacli.cli.acp.command", "Serve an editor that speaks the Agent Client Protocol."),
    "lsp": CommandInfo("lacli.cli.lsp.command", "Complete code in an editor, as its language server."),
    "serve": CommandInfo("lacli.cli.serve.command", "Keep models in memory for the other commands."),
    "remote": CommandInfo("lacli.cli.remote.command", "Servers that -m remote:NAME uses: how to start one."),
    "models": CommandInfo("lacli.cli.models.command", "List, show and fetch models."),
    "pool": CommandInfo(
        "lacli.cli.pool.command", "Show, check, build, share or clear what a project has taught the drafts."
    ),
    "sessions": CommandInfo(
        "lacli.cli.sessions.command", "List, show, search, export and delete what was asked and answered."
    ),
    "logs": CommandInfo("lacli.cli.logs.command", "Whether sessions are kept, and where."),
    "stats": CommandInfo("lacli.cli.stats.command", "What guessing brought, week by week."),
    "templates": CommandInfo("lacli.cli.templates.command", "Questions to ask again, with places to fill in."),
    "config": CommandInfo("lacli.cli.config.command", "Show, check and change the configuration files."),
    "completion": CommandInfo("lacli.cli.completion.command", "Complete lacli's command line with Tab, in your shell."),
    "doctor": CommandInfo("lacli.cli.doctor.command", "What is right and wrong on this computer, and what to do."),
    "spec": CommandInfo("lacli.cli.spec.command", "The whole command line as JSON."),
    "bench": CommandInfo(
        "lacli.cli.bench.command", "Measure lookahead against plain decoding, and check that the texts are equal."
    ),
}
