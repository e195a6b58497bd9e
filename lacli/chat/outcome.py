"""What comes of something the user wants of a chat, as a front end gets it: words to show and what to do next.

Values only. Whoever shows them decides where a line stands; what it says is decided here and in the rest of the room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lacli.errors import LacliError, PromptTooLong
from lacli.events import Request
from lacli.sessions.records import Turn

_TOO_LONG = "/drop n takes a file away, /set truncate middle leaves out a part of it; --ctx N at the start makes room"


@dataclass(frozen=True, slots=True)
class Line:
    """Something to say to the user."""

    text: str
    level: Literal["plain", "words", "note", "warning", "error"] = "note"
    """`plain` is what was asked for (a list, a value), `words` are of the conversation and may be broken anywhere, a
    `note` says what was done."""
    hint: str = ""
    """What can be done about it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. All fields are independent: a front end goes through them in this order."""

    restart: bool = False
    """Start another engine, with the chat's `settings`."""
    changed: bool = False
    """Turns other than the one being written have changed: show the conversation anew."""
    lines: tuple[Line, ...] = ()
    draft: str | None = None
    """Put this at the prompt."""
    send: Request | None = None
    """Have this answered, and give what comes of it to `ChatSession.answered` or `failed`."""
    turn: Turn | None = None
    """The turn that has just been added or replaced."""

    @property
    def text(self) -> str:
        """All that is said, without levels and hints."""
        return "\n".join(each.text for each in self.lines)


def note(text: str) -> Outcome:
    """Nothing but a note."""
    return Outcome(lines=(Line(text),))


def plain(*texts: str) -> tuple[Line, ...]:
    """Lines of what was asked for."""
    return tuple(Line(text, "plain") for text in texts)


def fault(error: BaseException) -> Line:
    """A failure, in words for the user."""
    if isinstance(error, LacliError):
        by_flags = isinstance(error, PromptTooLong) and "--" in error.hint
        return Line(error.message, "error", _TOO_LONG if by_flags else error.hint)
    if isinstance(error, OSError):
        what = f"{error.filename or 'a file'}: {error.strerror or error}"
        return Line(what, "error", "check its path and permissions")
    return Line(f"{type(error).__name__}: {error}", "error", "a mistake of lacli's: please report it")
