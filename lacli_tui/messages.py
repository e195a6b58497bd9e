"""What widgets and screens are told. All values are plain and frozen; nothing here knows an assistant.

Up, from below: `Arrived` (the bridge has something; posted from its thread, at most one at a time), and what widgets of
ours say to the screen that holds them (`Sent`, `Wanted`). Down, from the main screen: `Stats`, posted five times a
second at most while a reply is written, and once at its end, to every widget of the main screen that has the CSS class
`stats`; such a widget takes it as `on_stats` (or `@on(Stats)`) and keeps what it needs: `reply` is all of the reply
so far (`events.ReplyStats`), `session` the Counts of the whole chat, `steps` the decoding steps since the last `Stats`
with the source of each token, `begins` is set where they are the first of a reply. `About` is posted to the same
widgets when one of its values changed: project, model, quantisation, the `phase` of the engine. `Around`
comes from `verbs.watch`: the memory the engine takes, once a second at most, and what the project's pool holds.
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
    """One step of decoding."""

    text: str
    """May be empty, as a `Piece`'s."""
    sources: tuple[str, ...]
    """For each token who guessed it, "" where nobody did."""
    lengths: tuple[int, ...] = ()
    """For each token how many characters of the reply it completes, as a `Piece`'s."""


class Arrived(Message):
    """The bridge has something to take."""


class Sent(Message):
    """The user sends what stands at the prompt."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Wanted(Message):
    """The user wants something done: the id of an action, on the message with this number where it is about one."""

    def __init__(self, action: str, rest: str = "", turn: int | None = None, block: int | None = None) -> None:
        super().__init__()
        self.action = action
        self.rest = rest
        self.turn = turn
        """Of the conversation, counted from 0; None is the last."""
        self.block = block
        """Of its answer, counted from 1; None is the last."""


class Stats(Message, bubble=False):
    """The numbers of the reply that is being written, and of the chat."""

    def __init__(
        self,
        reply: ReplyStats | None,
        session: Counts,
        steps: Sequence[Decoded] = (),
        begins: bool = False,
    ) -> None:
        super().__init__()
        self.reply = reply
        """None after a session was opened or begun anew."""
        self.session = session
        """All replies of the chat, this one included."""
        self.steps = tuple(steps)
        self.begins = begins


class Around(Message, bubble=False):
    """What stands around the replies."""

    def __init__(self, memory_mb: float | None, pool: PoolFacts | None) -> None:
        super().__init__()
        self.memory_mb = memory_mb
        """Of the engine's process; None: not known."""
        self.pool = pool
        """None: not read yet, or the folder is no project."""


class About(Message, bubble=False):
    """What the header shows."""

    def __init__(
        self,
        project: str = "",
        model: str = "",
        quant: str = "",
        phase: Phase = "loading",
        loading: Loading | None = None,
        prefill: Prefill | None = None,
        system: bool = False,
    ) -> None:
        super().__init__()
        self.project = project
        self.model = model
        self.quant = quant
        self.phase = phase
        self.loading = loading
        self.prefill = prefill
        self.system = system
        """Whether a system message is set."""
