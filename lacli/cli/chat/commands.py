"""The slash commands: one table, which /help, completion and the dispatcher read.

What each does is in `turns`, `material`, `settings` and `results`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacli.chat import slash
from lacli.cli.chat import material, results, settings, turns
from lacli.cli.terminal import diagnostics

if TYPE_CHECKING:
    from lacli.cli.chat.loop import Repl


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command."""

    name: str
    arguments: str
    """As /help shows them; empty where it takes none."""
    help: str
    run: Callable[[Repl, str], None]
    """Called with what was typed behind the name."""
    values: str = ""
    """What Tab completes there: file (`n file` where a number may come first), model, session, template or option."""


def _help(repl: Repl, rest: str) -> None:
    for command in TABLE:
        diagnostics.plain_line(f"/{command.name} {command.arguments}".ljust(20) + command.help)
    for line in _KEYS:
        diagnostics.plain_line(line)
    file = repl.history_file
    diagnostics.plain_line(f"What you type is kept in {file}" if file else "What you type is not kept")


_KEYS = (
    "Ctrl-J              new line; so does Enter between two lines of " + '"""',
    "(blank)/word        a question, sent without the blank",
    "@path               shows the model a file; Tab completes paths, commands and names",
    "Ctrl-C              stops a reply and keeps what was written",
)

TABLE = (
    Command("help", "", "this list", _help),
    Command("exit", "", "leave (or Ctrl-D)", turns.leave),
    Command("clear", "", "forget the conversation", turns.clear),
    Command("retry", "", "ask the last question again", turns.retry),
    Command("undo", "", "take back the last turn, /clear, /drop or /compact", turns.undo),
    Command("edit", "", "write the next question in your editor", turns.edit),
    Command("file", "PATH", "show the model a file with the next question", material.file, "file"),
    Command("drop", "[n]", "take away an attached file; without n, list them", material.drop, "number"),
    Command("system", "[TEXT]", "show or set what the model is told first; none empties it", material.system),
    Command(
        "template", "[NAME …]", "fill in a saved prompt (K=V is its $K), or list all", material.template, "template"
    ),
    Command("model", "[NAME]", "go on with another model; without NAME, list them", settings.model, "model"),
    Command("set", "[K V]", "show or set an option such as temperature", settings.set_option, "option"),
    Command("copy", "[n]", "copy the last answer, or its n-th code block", results.copy, "number"),
    Command("save", "[n] [PATH]", "write the chat (.md), or a code block, to a file", results.save, "n file"),
    Command("apply", "[n] [PATH]", "put a code block into a file, after showing a diff", results.apply, "n file"),
    Command("tokens", "", "size of the prompt so far", settings.tokens),
    Command("stats", "", "numbers of the last reply and of the chat", settings.stats),
    Command("pool", "", "what this project has taught the drafts", settings.pool),
    Command("sessions", "[ID]", "earlier conversations here; with ID, go on with one", turns.sessions, "session"),
    Command("compact", "", "replace older turns by the model's summary of them", turns.compact),
)
_BY_NAME = {command.name: command for command in TABLE} | {"?": TABLE[0], "quit": TABLE[1]}


def obey(repl: Repl, text: str) -> bool | None:
    """Run the command this is; None where it is a question, False where it ends the conversation.

    Raises LacliError for what is neither, and what the command raises.
    """
    found = slash.command(text, {name: bool(command.arguments) for name, command in _BY_NAME.items()})
    if found is None:
        return None
    name, rest = found
    try:
        _BY_NAME[name].run(repl, rest)
    except turns.Leave:
        return False
    return True
