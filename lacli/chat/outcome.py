"""The result of a user's action on a chat: what to show, and what the front end does next. Values only.

The front end decides where and how a line is shown, never what it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lacli.errors import LacliError, PromptTooLong, folder_gone
from lacli.events import Request
from lacli.sessions.records import Turn

_TOO_LONG = "/drop n takes a file away, /set truncate middle leaves out a part of it; --ctx N at the start makes room"


@dataclass(frozen=True, slots=True)
class Line:
    """Something to say to the user."""

    text: str
    level: Literal["plain", "words", "answer", "note", "warning", "error"] = "note"
    """`plain` is output that was asked for (a list, a value), `words` is what the user said, which may be wrapped,
    `answer` is what the model said, in Markdown, `note` says what was done."""
    hint: str = ""
    """What can be done about it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result. The fields are independent; a front end handles them in this order."""

    restart: bool = False
    """Start a new engine with the `settings` of the chat."""
    changed: bool = False
    """Redraw the conversation: turns other than the one being written have changed."""
    lines: tuple[Line, ...] = ()
    draft: str | None = None
    """Put this text at the prompt."""
    send: Request | None = None
    """Have this request answered, and hand the end of the reply to `ChatSession.answered` or `failed`."""
    turn: Turn | None = None
    """The turn that was added or replaced."""

    @property
    def text(self) -> str:
        """The text of all lines."""
        return "\n".join(each.text for each in self.lines)


def note(text: str) -> Outcome:
    """An outcome that is only a note."""
    return Outcome(lines=(Line(text),))


def plain(*texts: str) -> tuple[Line, ...]:
    """Lines of output that was asked for."""
    return tuple(Line(text, "plain") for text in texts)


def fault(error: BaseException) -> Line:
    """An error as the user is told of it."""
    if isinstance(error, LacliError):
        by_flags = isinstance(error, PromptTooLong) and "--" in error.hint
        return Line(error.message, "error", _TOO_LONG if by_flags else error.hint)
    gone = folder_gone(error)
    if gone is not None:
        return Line(gone.message, "error", gone.hint)
    if isinstance(error, OSError):
        what = f"{error.filename or 'a file'}: {error.strerror or error}"
        return Line(what, "error", "check its path and permissions")
    return Line(f"{type(error).__name__}: {error}", "error", "a mistake of lacli's: please report it")
