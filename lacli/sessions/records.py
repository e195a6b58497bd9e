"""What is kept of conversations, as values. Pure: no database, no files.

Written and read by `store`; the front ends and `conversation` see these and nothing below them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lacli.errors import LacliError
from lacli.events import Counts, Message

INTERRUPTED = "cancelled"
"""The reason of a reply that was stopped before its end; what had been written of it is kept."""


class StoreUnavailable(LacliError):
    """The saved conversations cannot be read or written; whatever asked for it can go on without."""


class NoSuchSession(LacliError):
    """No saved conversation has this id, or more than one begins with it."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and what came of it."""

    question: Message
    answer: Message
    """With the ids the model wrote."""
    reason: str
    """As in `Finished`: stop, length, context or cancelled."""
    counts: Counts
    at: float
    """When the reply ended, seconds since 1970."""

    @property
    def interrupted(self) -> bool:
        """Whether the reply was stopped before its end."""
        return self.reason == INTERRUPTED


@dataclass(frozen=True, slots=True)
class Session:
    """A saved conversation, or what one run of a command asked and got."""

    id: str
    kind: str
    """The command: ask, chat, complete or edit."""
    project: Path | None
    """The project's root; None outside any."""
    model: str
    system: str
    title: str
    """The first words of the first question."""
    turns: tuple[Turn, ...] = ()
    begun: float = 0.0
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A session without its turns, for lists."""

    id: str
    kind: str
    project: Path | None
    model: str
    title: str
    turns: int
    begun: float
    used: float
    """When the last turn was added, seconds since 1970."""
    interrupted: bool
    """Whether the last reply was stopped before its end."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A session in which a text was found."""

    session: Summary
    turn: int
    """The newest turn with the text, from 1; 0 where only title or system prompt have it."""
    where: str
    """question, answer, system, title, or the label of an attachment."""
    excerpt: str
    """One line with the text and what stands around it."""
    at: tuple[int, int]
    """Where in the excerpt the text begins and ends."""
    matches: int
    """In how many turns of the session the text is."""
