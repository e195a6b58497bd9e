"""The contract between the doors and the engine: what HTTP, ACP and LSP see of whatever runs the models.

A door translates a protocol of others into these calls and their events, and holds no logic of decoding. The engine
behind it holds one worker process for each loaded model and lets requests take turns.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from lacli.config import Settings
from lacli.events import Event, Preview, Request


@dataclass(frozen=True, slots=True)
class Health:
    """How the engine is doing; known without asking a worker, so it can be told at any time."""

    models: tuple[str, ...] = ()
    """Aliases of the models in memory."""
    running: int = 0
    """Requests that workers are at; replies of one model may be written side by side."""
    waiting: int = 0
    """Requests behind those."""
    quiet_s: float = 0.0
    """Seconds since a model that is busy last brought an event of any request; 0 where none is."""


class Engine(Protocol):
    """Everything that doors ask for. All calls raise errors of `lacli.errors`."""

    def reply(self, request: Request, settings: Settings, urgent: bool = False) -> AsyncIterator[Event]:
        """The events of one reply, `Finished` last, once it is its turn; an urgent one goes before those that wait.

        `settings` name the model and, with `folder`, the project; with `pool` off there is none. Closing the iterator,
        also before its first event, cancels the reply within one step.
        """
        ...

    async def preview(self, request: Request, settings: Settings) -> Preview:
        """The prompt as the model would be given it; waits for nobody's turn longer than a step."""
        ...

    async def warm(self, request: Request, settings: Settings) -> None:
        """Read the prompt of a request ahead of time, when nothing else is wanted."""
        ...

    def health(self) -> Health:
        """How the engine is doing."""
        ...
