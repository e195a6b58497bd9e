"""The slash commands: one table that dispatch, completion and help of all front ends read.

Most of them are methods of `chat.ChatSession`; each front end calls those and shows the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lacli.chat import slash

FrontEnd = Literal["cli", "tui", "acp"]
"""`lacli chat`, the terminal UI, and an editor that speaks the Agent Client Protocol."""
_AT_TERMINALS: tuple[FrontEnd, ...] = ("cli", "tui")


@dataclass(frozen=True, slots=True)
class Command:
    """One slash command."""

    name: str
    arguments: str
    """As shown by help; empty if it takes none."""
    help: str
    values: str = ""
    """What completion offers as its arguments: file (`n file` where a number may come first), model, session, template,
    option or theme."""
    alias: str = ""
    at: tuple[FrontEnd, ...] = ("cli", "tui", "acp")
    """The front ends that have it. Editors have ways of their own to leave, to copy and to open what was said."""

    @property
    def usage(self) -> str:
        """As it is typed, with its arguments."""
        return f"/{self.name} {self.arguments}".rstrip()


TABLE = (
    Command("help", "", "this list", alias="?"),
    Command("exit", "", "leave (or Ctrl-D)", alias="quit", at=_AT_TERMINALS),
    Command("new", "", "begin another chat", at=("tui",)),
    Command("clear", "", "forget the conversation"),
    Command("retry", "", "ask the last question again"),
    Command("undo", "", "take back the last turn, /clear, /drop or /compact"),
    Command("edit", "", "write the next question in your editor", at=_AT_TERMINALS),
    Command(
        "edit", "FILE[:A-B|::NAME] …", "change a file by an instruction, after showing a diff", "file", at=("acp",)
    ),
    Command("file", "PATH", "show the model a file with the next question", "file"),
    Command("drop", "[n]", "take away an attached file; without n, list them"),
    Command("system", "[TEXT]", "show or set what the model is told first; none empties it"),
    Command("template", "[NAME …]", "fill in a saved prompt (K=V is its $K), or list all", "template"),
    Command("model", "[NAME]", "go on with another model; without NAME, list them", "model"),
    Command("set", "[K V]", "show or set an option such as temperature", "option"),
    Command("copy", "[n]", "copy the last answer, or its n-th code block", at=_AT_TERMINALS),
    Command("save", "[n] [PATH]", "write the chat (.md), or a code block, to a file", "n file", at=_AT_TERMINALS),
    Command("apply", "[n] [PATH]", "put a code block into a file, after showing a diff", "n file"),
    Command("tokens", "", "size of the prompt so far"),
    Command("stats", "", "numbers of the last reply and of the chat"),
    Command("pool", "", "what this project has taught the drafts", at=_AT_TERMINALS),
    Command("sessions", "[ID]", "earlier conversations here; with ID, go on with one", "session", at=_AT_TERMINALS),
    Command("compact", "", "replace older turns by the model's summary of them"),
    Command("settings", "", "settings and what this program knows of itself", at=("tui",)),
    Command("theme", "[NAME]", "choose another theme", "theme", at=("tui",)),
)


def commands(front_end: FrontEnd) -> tuple[Command, ...]:
    """The commands of a front end, in the order of help."""
    return tuple(each for each in TABLE if front_end in each.at)


def words(front_end: FrontEnd) -> dict[str, Command]:
    """The commands by what is typed after the slash, aliases last."""
    known = commands(front_end)
    return {each.name: each for each in known} | {each.alias: each for each in known if each.alias}


def parse(typed: str, known: Mapping[str, Command]) -> tuple[Command, str] | None:
    """The command that was typed and its arguments; None if this is a question. Raises UsageError if it is neither."""
    found = slash.command(typed, {word: bool(command.arguments) for word, command in known.items()})
    return None if found is None else (known[found[0]], found[1])
