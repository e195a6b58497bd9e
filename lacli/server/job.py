"""One request on its way through the engine: where it stands, and the answers it gets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Hashable
from dataclasses import dataclass, field

from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Event, Finished, ReplyStats, Request
from lacli.server.turns import Rank
from lacli.worker.protocol import Done, ErrorMessage, EventMessage


@dataclass(eq=False, slots=True)
class Job:
    """A call that one worker has to answer."""

    what: str
    """One of `protocol.CALLS`"""
    request: Request
    settings: Settings
    client: Hashable
    rank: Rank
    arrival: int
    id: int = 0
    """Its number on the worker's connection; 0 while it waits."""
    ended: bool = False
    _answers: asyncio.Queue[Event | Done | LacliError] = field(default_factory=asyncio.Queue)

    def put(self, message: EventMessage | Done | ErrorMessage) -> None:
        """An answer has come."""
        if isinstance(message, EventMessage):
            self._answers.put_nowait(message.event)
        elif isinstance(message, Done):
            self._end(message)
        else:
            self._end(message.to_error())

    def fail(self, error: LacliError) -> None:
        """It will not be answered."""
        self._end(error)

    def drop(self) -> None:
        """It was cancelled before it began: what a worker would have said."""
        if self.what == "reply":
            stats = ReplyStats(replies=0, finish_reason="cancelled")
            self._answers.put_nowait(Finished("", (), "cancelled", stats))
        self._end(Done(self.id))

    def _end(self, last: Done | LacliError) -> None:
        self.ended = True
        self._answers.put_nowait(last)

    async def answers(self) -> AsyncGenerator[Event | Done, None]:
        """Every answer, `Done` last. Raises what ended it otherwise."""
        while True:
            answer = await self._answers.get()
            if isinstance(answer, LacliError):
                raise answer
            yield answer
            if isinstance(answer, Done):
                return
