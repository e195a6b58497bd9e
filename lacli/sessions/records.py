"""What the log holds of conversations, as values. Pure: no database, no files.

`store` writes and reads them; the front ends and `lacli.chat` see these and nothing below.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from lacli.errors import LacliError, UsageError
from lacli.events import Counts, Finished, Message

INTERRUPTED = "cancelled"
"""The reason of a reply that was stopped before its end; what had been written of it is kept."""
CONVERSATIONS = ("ask", "chat")
"""The kinds of session that can be gone on with; `complete` and `edit` are kept for reading."""
SUMMARISED = "What have we said so far?"
"""The question of the turn that stands for older ones."""


class StoreUnavailable(LacliError):
    """The saved conversations cannot be read or written; whatever asked for it can go on without."""


class NoSuchSession(UsageError):
    """No saved conversation has this id, or more than one begins with it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and its answer."""

    question: Message
    answer: Message
    """With the ids the model wrote."""
    reason: str
    """As in `Finished`: stop, length, context or cancelled."""
    counts: Counts
    at: float
    """When the reply ended, seconds since 1970."""
    thought: str = ""
    """What the model thought before it answered: kept for reading, never sent again."""

    @staticmethod
    def of(question: Message, finished: Finished) -> Turn:
        """A question with the reply that has just ended."""
        answer = Message("assistant", finished.text, finished.token_ids)
        return Turn(question, answer, finished.reason, finished.stats, time.time(), finished.thought)

    @property
    def interrupted(self) -> bool:
        """Whether the reply was stopped before its end."""
        return self.reason == INTERRUPTED

    def without_ids(self) -> Turn:
        """The turn without token ids, for another model."""
        return replace(self, answer=replace(self.answer, token_ids=()))


@dataclass(frozen=True, slots=True)
class Session:
    """A saved conversation, or what one run of a command asked and got."""

    id: str
    kind: str
    """The command: ask, chat, complete or edit."""
    project: Path | None
    """The project's root; None outside any."""
    model: str
    """The one that wrote the last answer, and all token ids that are kept."""
    system: str
    title: str
    """The first words of the first question that the user asked."""
    turns: tuple[Turn, ...] = ()
    started: float = 0.0
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
    started: float
    used: float
    """When the last turn was added, seconds since 1970."""
    interrupted: bool
    """Whether the last reply was stopped before its end."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A session in which a text was found."""

    session: Summary
    matches: int
    """In how many of its turns the text is."""
    turn: int
    """The newest of them, counted from 1."""
    where: str
    """question, answer, or the label of an attachment."""
    excerpt: str
    """One line: the text and what stands around it."""


@dataclass(frozen=True, slots=True)
class StoreSize:
    """How much the log holds."""

    sessions: int
    turns: int
    byte_size: int
    oldest: float
    """Seconds since 1970; 0 if the log is empty."""
