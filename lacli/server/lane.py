"""One model's worker and those who wait for it: one request at a time, or as many replies as it writes side by side.

Knows nothing of other models; when it may have a process, and when it has to go, the engine says.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Literal

from lacli.config import Settings
from lacli.errors import LacliError, WorkerDied
from lacli.server.child import Answer, Child
from lacli.server.job import Job
from lacli.server.turns import Rank, Turns
from lacli.worker.protocol import Call, CancelCall, Done, ErrorMessage, Places


class Lane:
    """See above. `on_change` is called whenever a request has ended, and when the process has started or gone."""

    def __init__(self, command: Sequence[str], settings: Settings, on_change: Callable[[], None]) -> None:
        self.settings = settings
        """Of the model alone."""
        self.state: Literal["cold", "starting", "up", "closing"] = "cold"
        self.turns: Turns[Job] = Turns()
        self.running: dict[int, Job] = {}
        """What the worker is at, by the number of the call."""
        self.last_used = time.monotonic()
        self.last_what = ""
        """What it did last."""
        self.heard = time.monotonic()
        """When a running request last brought an event, or began."""
        self._command = command
        self._on_change = on_change
        self._child: Child | None = None
        self._places = 1
        """How many replies the worker writes at once."""
        self._aside: dict[int, Job] = {}
        """Previews under way beside what is running."""
        self._ids = itertools.count(1)
        self._entered: tuple[object, Settings] | None = None
        """Whose call the worker had last, and with which settings."""

    @property
    def pid(self) -> int:
        """The worker's process; 0 where there is none."""
        return self._child.pid if self._child is not None else 0

    @property
    def is_idle(self) -> bool:
        """Whether nobody wants anything."""
        return not self.running and not self._aside and not self.turns

    def add(self, job: Job) -> None:
        """Let a request wait; what a busy worker can answer between two steps goes there at once, and reading ahead
        makes way."""
        if self.running and (job.what == "preview" or (job.what == "open" and self._places > 1)):
            self._send(job, None if job.what == "preview" else self._entering(job))
            self._aside[job.id] = job
            return
        if job.rank != Rank.AHEAD:
            ahead = [each for each in self.turns if each.rank == Rank.AHEAD and each.client == job.client]
            for each in (*ahead, *(each for each in self.running.values() if each.rank == Rank.AHEAD)):
                self.cancel(each)
        self.turns.add(job)

    def cancel(self, job: Job) -> None:
        """A request is not wanted any more: it ends after the current step, or at once if it waits."""
        if job.ended:
            return
        if job.id:
            if self._child is not None:
                self._child.send(CancelCall(job.id))
            return
        self.turns.remove(job)
        job.drop()

    def next(self) -> Job | None:
        """The request that can begin now; None where none waits, or the worker is at all that it can be at."""
        return self.turns.next(self._may_begin) if self.state == "up" else None

    def begin_next(self) -> None:
        """Give the worker that request."""
        job = self.turns.take(self._may_begin)
        self._send(job, self._entering(job))
        self.running[job.id] = job
        self.heard = time.monotonic()

    def _may_begin(self, job: Job) -> bool:
        """Whether there is a place for a request beside what runs. One is kept for a completion, which so waits for no
        chat, and one for a client of whom nothing is being written, who so waits for nobody's batch."""
        running = self.running.values()
        if not running:
            return True
        if self._places == 1 or any(each.what == "warm" for each in (job, *running)):
            return False
        kept = 0 if job.rank == Rank.URGENT else 1 + any(each.client == job.client for each in running)
        return self._places - sum(each.what == "reply" for each in running) > kept

    def _entering(self, job: Job) -> Settings | None:
        """The settings to send with a request: none where the same client's were the last."""
        before, self._entered = self._entered, (job.client, job.settings)
        return None if before == self._entered else job.settings

    async def start(self) -> None:
        """Start the worker; where it cannot be, all that wait for it fail."""
        self.state = "starting"
        try:
            self._child = await Child.start(self._command, self.settings, self._answered, self._died)
            self.state = "up"
        except LacliError as error:
            self.state = "cold"
            while self.turns:
                self.turns.take().fail(error)
        self._on_change()

    async def close(self) -> None:
        """End the worker, which saves what it has; what it was doing fails."""
        self._lose(WorkerDied("the engine was stopped", "nothing but the rest of that reply is lost"))
        if self._child is not None:
            self.state = "closing"
            await self._child.close()

    def _send(self, job: Job, settings: Settings | None) -> None:
        assert self._child is not None
        job.id = next(self._ids)
        self._child.send(Call(job.id, job.what, job.request, settings))

    def _answered(self, answer: Answer) -> None:
        if isinstance(answer, Places):
            self._places = answer.count
            self._on_change()
            return
        job = self._aside.get(answer.id or 0) or self.running.get(answer.id or 0)
        if job is None:
            return
        job.put(answer)
        self.heard = time.monotonic()
        if isinstance(answer, Done | ErrorMessage):
            self._aside.pop(job.id, None)
            self.running.pop(job.id, None)
            self.last_what = job.what
            self._rest()

    def _died(self, error: WorkerDied) -> None:
        """What it was doing is lost; what waits gets another one."""
        self._child, self._entered, self._places = None, None, 1
        self.state = "cold"
        self._lose(error)
        self._rest()

    def _lose(self, error: WorkerDied) -> None:
        lost = [*self._aside.values(), *self.running.values()]
        self._aside.clear()
        self.running.clear()
        for job in lost:
            job.fail(error)

    def _rest(self) -> None:
        self.last_used = time.monotonic()
        self._on_change()


async def close_all(lanes: Sequence[Lane]) -> None:
    """Close lanes at the same time."""
    await asyncio.gather(*(lane.close() for lane in lanes))
