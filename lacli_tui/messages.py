"""The messages of our widgets, screens and threads. All values are plain and not changed; nothing here knows an engine.

Upwards: `UpdatesReady` (posted by the bridge's thread), and what widgets ask of the screen that holds them:
`QuestionSent`, `ActionRequested`. Downwards, from the main screen to every widget with the CSS class `stats`: `Stats`,
five times a second at most while a reply is written and once at its end; `About` and `Resources` when one of their
values has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from textual.message import Message

from lacli.events import Counts, Loading, Prefill, ReplyStats
from lacli_tui.resources import PoolFacts

Phase = Literal["loading", "idle", "prefill", "decoding", "stopping", "dead"]


@dataclass(frozen=True, slots=True)
class Decoded:
    """One decoding step."""

    text: str
    """May be empty, as a `Piece`'s."""
    sources: tuple[str, ...]
    """The source that guessed each token, "" where none did."""
    lengths: tuple[int, ...] = ()
    """How many characters of the reply each token completes, as a `Piece`'s."""


class UpdatesReady(Message):
    """The engine has sent something. At most one at a time."""


@dataclass
class QuestionSent(Message):
    """The user sends the draft."""

    text: str


@dataclass
class ActionRequested(Message):
    """A widget asks for an action by its id; some are about a message."""

    action: str
    rest: str = ""
    turn: int | None = None
    """The turn of the conversation, counted from 0; None is the last."""
    block: int | None = None
    """The code block of its answer, counted from 1; None is the last."""


@dataclass
class Stats(Message, bubble=False):
    """The numbers of the reply being written, or the last one, and of the chat."""

    reply: ReplyStats | None
    """All of the reply so far; None in a new or resumed chat."""
    session: Counts
    """All replies of the chat, including this one."""
    steps: Sequence[Decoded] = ()
    """The steps since the last message."""
    begins: bool = False
    """Whether they are the first of a reply."""


@dataclass
class Resources(Message, bubble=False):
    """What the program takes and keeps."""

    memory_mb: float | None
    """Used by the engine's process; None if unknown."""
    pool: PoolFacts | None
    """What the project has learned; None if not read yet, or if the folder is no project."""


@dataclass
class About(Message, bubble=False):
    """Project, model and what the engine is doing."""

    project: str = ""
    model: str = ""
    quant: str = ""
    phase: Phase = "loading"
    loading: Loading | None = None
    prefill: Prefill | None = None
    system: bool = False
    """Whether a system message is set."""
