"""The engine behind all doors: which models are in memory, for how long, and who gets the next turn.

`WorkerEngine` is `base.Engine`: a lane for each model, of which as many have a worker process as fit. All of it is in
the one thread of an asyncio loop, which never computes: it answers while every worker is busy.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Coroutine, Hashable, Sequence
from contextlib import aclosing
from typing import Any

from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Event, Preview, Request
from lacli.server.base import Health
from lacli.server.job import Job
from lacli.server.lane import Lane, close_all
from lacli.server.names import ModelNames
from lacli.server.turns import Rank
from lacli.worker.process import own_command
from lacli.worker.protocol import Done, EngineStatus, ModelStatus

KEEP_ALIVE_S = 600.0
_BETWEEN_S = 30.0
"""How long a worker waits at least for what comes after anything but a reply."""


class WorkerEngine:
    """See `base.Engine`.

    models: most of them in memory at a time; the one not used for longest goes for another.
    keep_alive_s: how long a worker stays that nobody asks; 0 ends it after each reply.
    command: starts another worker than ours.
    Must be made inside a running event loop, and closed.
    """

    def __init__(
        self, models: int = 1, keep_alive_s: float = KEEP_ALIVE_S, command: Sequence[str] | None = None
    ) -> None:
        self.http = ""
        """The URL of its HTTP door, for `status`; empty where it has none."""
        self._models = models
        self._keep_alive_s = keep_alive_s
        self._command = tuple(command or own_command())
        self._lanes: dict[Settings, Lane] = {}
        self._names = ModelNames()
        self._arrivals = itertools.count()
        self._started = time.monotonic()
        self._tasks: set[asyncio.Task[None]] = set()
        self._expiry: asyncio.TimerHandle | None = None
        self._closed = False

    async def reply(
        self, request: Request, settings: Settings, urgent: bool = False, client: Hashable = None
    ) -> AsyncIterator[Event]:
        """See `Engine.reply`. Clients take turns; without one, each request counts as another's."""
        job = self.submit("reply", request, settings, urgent, client)
        try:
            async with aclosing(job.answers()) as answers:
                async for answer in answers:
                    if not isinstance(answer, Done):
                        yield answer
        finally:
            self.cancel(job)

    async def preview(self, request: Request, settings: Settings) -> Preview:
        """See `Engine.preview`."""
        done = await self._done(self.submit("preview", request, settings))
        if done.preview is None:
            raise LacliError("the engine gave no preview")
        return done.preview

    async def warm(self, request: Request, settings: Settings) -> None:
        """See `Engine.warm`. Ends early where something else is wanted of the same model."""
        await self._done(self.submit("warm", request, settings))

    def health(self) -> Health:
        """See `Engine.health`."""
        up = [lane for lane in self._lanes.values() if lane.pid]
        busy = [lane for lane in up if lane.running]
        return Health(
            models=tuple(lane.settings.model or "" for lane in up),
            running=sum(len(lane.running) for lane in busy),
            waiting=sum(len(lane.turns) for lane in self._lanes.values()),
            quiet_s=max((time.monotonic() - lane.heard for lane in busy), default=0.0),
        )

    def status(self) -> EngineStatus:
        """The same with what people want to know."""
        health, now = self.health(), time.monotonic()
        models = tuple(
            ModelStatus(
                lane.settings.model or "", lane.pid, not lane.is_idle, now - lane.last_used if lane.is_idle else 0.0
            )
            for lane in self._lanes.values()
            if lane.pid
        )
        return EngineStatus(models, health.running, health.waiting, now - self._started, self._keep_alive_s, self.http)

    def submit(
        self, what: str, request: Request, settings: Settings, urgent: bool = False, client: Hashable = None
    ) -> Job:
        """Let a call wait for its turn; its answers are read from the job. Raises LacliError."""
        if self._closed:
            raise LacliError("the engine is stopping", "start it again")
        settings = self._names.settled(settings)
        arrival = next(self._arrivals)
        rank = Rank.AHEAD if what == "warm" else Rank.URGENT if urgent else Rank.NORMAL
        job = Job(what, request, settings, arrival if client is None else client, rank, arrival)
        self._lane(settings).add(job)
        self._schedule()
        return job

    def cancel(self, job: Job) -> None:
        """A call is not wanted any more."""
        if not job.ended:
            self._lane(job.settings).cancel(job)
            self._schedule()

    async def close(self) -> None:
        """Let every worker finish its step and save, and end; all that wait fail."""
        self._closed = True
        if self._expiry is not None:
            self._expiry.cancel()
        for lane in self._lanes.values():
            while lane.turns:
                lane.turns.take().fail(LacliError("the engine is stopping", "start it again"))
        await asyncio.gather(*self._tasks)
        await close_all(tuple(self._lanes.values()))

    async def _done(self, job: Job) -> Done:
        """The end of a call of which nobody reads the events."""
        try:
            async for answer in job.answers():
                if isinstance(answer, Done):
                    return answer
        finally:
            self.cancel(job)
        raise LacliError("the engine ended a call without telling its end")

    def _lane(self, settings: Settings) -> Lane:
        key = settings.of_model
        if key not in self._lanes:
            self._lanes[key] = Lane(self._command, key, self._schedule)
        return self._lanes[key]

    def _schedule(self) -> None:
        """Give every worker the requests that it can take now, and models that are wanted a place in memory."""
        if self._closed:
            return
        wanted = sorted((lane for lane in self._lanes.values() if lane.turns), key=lambda lane: lane.turns.oldest())
        for lane in wanted:
            if lane.state == "cold" and self._has_room_for(lane):
                lane.state = "starting"
                self._run(lane.start())
        locked_out = min((lane.turns.oldest() for lane in wanted if lane.state == "cold"), default=None)
        for lane in wanted:
            while (job := lane.next()) is not None:
                if lane.running and locked_out is not None and locked_out < job.arrival:
                    break  # it must come to an end, as another model waits for its memory
                lane.begin_next()
        self._expire()

    def _has_room_for(self, lane: Lane) -> bool:
        """Whether another model fits into memory; where none does, one that is not busy is let go of meanwhile."""
        others = [each for each in self._lanes.values() if each.state != "cold"]
        if len(others) < self._models:
            return True
        if any(each.state == "closing" for each in others):
            return False
        oldest = lane.turns.oldest()
        free = [
            each
            for each in others
            if each.state == "up" and not each.running and (not each.turns or each.turns.oldest() > oldest)
        ]
        if free:
            self._let_go(min(free, key=lambda each: each.last_used))
        return False

    def _let_go(self, lane: Lane) -> None:
        lane.state = "closing"
        self._run(lane.close())

    def _expire(self) -> None:
        """End the workers that nobody has asked for long enough, and come again when the next one is due."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        now = time.monotonic()
        for lane in [lane for lane in self._lanes.values() if lane.state == "up" and lane.is_idle]:
            if now >= self._due(lane):
                self._let_go(lane)
        for key in [key for key, lane in self._lanes.items() if lane.state == "cold" and lane.is_idle]:
            del self._lanes[key]
        due = [self._due(lane) for lane in self._lanes.values() if lane.state == "up" and lane.is_idle]
        if due:
            self._expiry = asyncio.get_running_loop().call_later(min(due) - now, self._schedule)

    def _due(self, lane: Lane) -> float:
        """When an idle worker has to go: not between the loading that somebody asked for and their question."""
        keep_s = self._keep_alive_s if lane.last_what == "reply" else max(self._keep_alive_s, _BETWEEN_S)
        return lane.last_used + keep_s

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
