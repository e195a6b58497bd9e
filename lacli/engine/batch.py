"""Many replies at once: each has a sequence of its own, and every forward runs the rows of all.

A row costs far less beside others than alone, so the replies of a batch end sooner together than one after the other.
Each is the loop of `engine.loop`, unchanged; here is only who sits where: a place that is left goes to the next job,
whose prompt is read in chunks beside the steps of the others. Where a prompt begins as one that some place holds does,
that beginning is copied. A runner that cannot share has one place, and its jobs follow one another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lacli.drafts.base import DraftSource
from lacli.engine.controller import Controller
from lacli.engine.loop import Steps, ended, first_step, next_rows, next_step, steps
from lacli.engine.sampler import Sampler
from lacli.engine.sequence import CachedSequence, common
from lacli.engine.step import Asked, Finish, Ran, Read, Step
from lacli.engine.stop import Stops
from lacli.errors import LacliError
from lacli.models.base import Rows, Runner, Scores, SharingRunner

_LEAST_READ = 16
"""Rows of prompts that are read beside the steps, however many those are."""
_HEARD_MS = 800.0
"""A forward takes no longer by plan, as a cancel waits for it; where a single row does, twice that."""
_WORTH_WAITING = 16
"""Common tokens from which on a prompt waits for another place to read them."""
_GOOD_ENOUGH = 0.98
"""Of the best rate of tokens: fewer places begin and end sooner, and take less memory."""

Came = tuple[int, Step | Read | LacliError]
"""The key of a job, and a step of its reply, what was read of its prompt, or why it has no reply."""


@dataclass(frozen=True, slots=True)
class Job:
    """One reply to write."""

    prompt: Sequence[int]
    sources: Sequence[DraftSource]
    """Its own: other replies are written at the same time (`DraftSource.fork`)."""
    sampler: Sampler
    stops: Stops


class _Place:
    """A sequence, and the job that has it."""

    def __init__(self, cached: CachedSequence) -> None:
        self.cached = cached
        self.key = -1
        self.job: Job | None = None
        self.fresh = False
        """Whether nothing of the prompt was read or copied yet."""
        self.reused = self.most_positions = 0
        self.reply: Steps | None = None
        """None while the prompt is read."""
        self.asked: Asked | None = None

    def seat(self, key: int, job: Job) -> None:
        self.key, self.job, self.fresh = key, job, True
        self.most_positions = _most_positions(job, self.cached.runner)

    def answer(self, ran: Ran, controller: Controller) -> Step:
        """The step that comes of the rows asked for; the first one where they were the prompt's last."""
        job = self.job
        assert job is not None
        if self.reply is not None:
            return next_step(self.reply, ran)
        self.reply = steps(job.prompt, ran.scores, self.cached, job.sources, job.sampler, job.stops, controller)
        return first_step(self.reply)

    def leave(self) -> None:
        if self.reply is not None:
            self.reply.close()
        self.job = self.reply = self.asked = None

    def bytes(self) -> int:
        """What its cache has, or may come to with this job."""
        runner = self.cached.runner
        if not isinstance(runner, SharingRunner):
            return 0
        return max(runner.cache_bytes, runner.position_bytes * self.most_positions if self.job is not None else 0)


def best_places(controller: Controller, cached: CachedSequence) -> int:
    """How many replies are written fastest at once, a row each: as few as come near the best rate."""
    if not isinstance(cached.runner, SharingRunner):
        return 1
    rates = [count / controller.cost(count) for count in range(1, _most_rows(controller) + 1)]
    enough = _GOOD_ENOUGH * max(rates)
    return next(count for count, rate in enumerate(rates, start=1) if rate >= enough)


def _most_rows(controller: Controller) -> int:
    """Of a forward: as many as a cancel can wait for."""
    cost, most = controller.cost, controller.limits.max_rows
    longest = max(_HEARD_MS, 2 * cost(1))
    return next((count - 1 for count in range(2, most + 1) if cost(count) > longest), most)


class Batch:
    """The places of one model; `decode` fills them."""

    def __init__(self, cached: CachedSequence, controller: Controller, most: int, most_bytes: float) -> None:
        """cached: the first place; most: places, 1 where the runner cannot share; most_bytes: of all caches."""
        self._places = [_Place(cached)]
        self._controller = controller
        self._most = most
        self._most_bytes = most_bytes
        self._most_rows = _most_rows(controller)

    def decode(
        self, jobs: Iterator[tuple[int, Job | LacliError]], cancel: Callable[[], bool] = lambda: False
    ) -> Iterator[Came]:
        """The steps of all jobs and what is read of prompts, as they come, each with its job's key; of a job's last
        step `finish` is set.

        A job is taken from `jobs` when there is a place for it. One that fails, there already or later and alone, gives
        its error instead. `cancel` is read between forwards; then every job that was begun ends as cancelled.
        """
        waiting: list[tuple[int, Job]] = []
        try:
            while True:
                yield from self._seat(jobs, waiting, cancel)
                active = [place for place in self._places if place.job is not None]
                if not active:
                    return
                if cancel():
                    yield from ((place.key, ended(Finish.CANCELLED)) for place in active)
                    return
                yield from self._forward(active)
        finally:
            self._controller.share(0, 0.0)
            for place in self._places:
                place.leave()

    def _seat(
        self, jobs: Iterator[tuple[int, Job | LacliError]], waiting: list[tuple[int, Job]], cancel: Callable[[], bool]
    ) -> Iterator[Came]:
        """Give free places to the next jobs; `waiting` keeps one that there was no memory for."""
        while True:
            if not waiting:
                if len(self._places) >= self._most and all(place.job is not None for place in self._places):
                    return
                key, job = next(jobs, (-1, None))
                if job is None:
                    return
                if isinstance(job, LacliError):
                    yield key, job
                    continue
                if job.stops.room <= 0:
                    yield key, ended(Finish.LENGTH)
                    continue
                waiting.append((key, job))
            place = self._free_place(waiting[0][1])
            if place is None:
                return
            place.seat(*waiting.pop())
            if self._most == 1:
                yield from self._read_alone(place, cancel)

    def _free_place(self, job: Job) -> _Place | None:
        """The free place whose cache serves this job best, or a new one; None where all are taken or memory is."""
        free = [place for place in self._places if place.job is None]
        taken = sum(place.bytes() for place in self._places)
        first = self._places[0].cached.runner
        if len(free) < len(self._places) and isinstance(first, SharingRunner):
            needed = first.position_bytes * _most_positions(job, first)
            if taken + max(0, needed - max((place.bytes() for place in free), default=0)) > self._most_bytes:
                return None
        if free:
            return max(free, key=lambda place: place.cached.reusable(job.prompt))
        if len(self._places) >= self._most or not isinstance(first, SharingRunner):
            return None
        self._places.append(_Place(CachedSequence(first.sibling())))
        return self._places[-1]

    def _read_alone(self, place: _Place, cancel: Callable[[], bool]) -> Iterator[Came]:
        """The whole prompt at once, in the runner's own way."""
        assert place.job is not None
        place.fresh, place.reused = False, place.cached.reusable(place.job.prompt)
        scores = place.cached.start(place.job.prompt, lambda done: not cancel())
        yield place.key, Read(place.cached.length, place.reused)
        if scores is not None:
            yield self._answer(place, Ran(scores, 0.0))

    def _forward(self, active: Sequence[_Place]) -> list[Came]:
        """One forward for all that are active, and what came of it."""
        running = [(place, rows) for place, rows in self._asked(active) if rows is not None]
        counts = [len(rows.token_ids) for _, rows in running]
        started = time.perf_counter()
        results = _run([(place.cached.runner, rows) for place, rows in running])
        spent_ms = 1000 * (time.perf_counter() - started)
        if all(place.asked is not None for place, _ in running):  # reading a prompt is cheaper than so many steps
            self._controller.cost.learn(sum(counts), spent_ms)
        plain_ms = self._controller.cost.plain_ms(sum(counts), spent_ms)
        came: list[Came] = []
        for (place, rows), scores, count in zip(running, results, counts, strict=True):
            if place.reply is None:
                place.cached.keep(rows, range(count))
                came.append((place.key, Read(place.cached.length, place.reused)))
            if len(scores):
                came.append(self._answer(place, Ran(scores, spent_ms * count / sum(counts), plain_ms)))
        return came  # as a whole: whoever reads it may run other forwards meanwhile

    def _answer(self, place: _Place, ran: Ran) -> Came:
        """The step that comes of a forward; a place whose reply has ended is left."""
        key = place.key
        try:
            step: Step | LacliError = place.answer(ran, self._controller)
        except LacliError as error:
            step = error
        if isinstance(step, LacliError) or step.finish is not None:
            place.leave()
        return key, step

    def _asked(self, active: Sequence[_Place]) -> Iterator[tuple[_Place, Rows | None]]:
        """The rows of each place, those of prompts after those of steps; None for a prompt that waits."""
        writing = [(place, place.reply) for place in active if place.reply is not None]
        rows, tokens = len(writing), float(len(writing))
        for place, reply in writing:
            self._controller.share(rows - 1, tokens - 1.0)
            place.asked = next_rows(reply)
            rows += len(place.asked.rows.token_ids) - 1
            tokens += place.asked.expected - 1.0
            yield place, place.asked.rows
        left = max(self._most_rows - rows, _LEAST_READ)
        readers = [place for place in active if place.reply is None]
        for index, place in enumerate(readers):
            chunk = self._chunk(place, readers[:index], left)
            left -= len(chunk.token_ids) if chunk is not None else 0
            yield place, chunk

    def _chunk(self, place: _Place, before: Sequence[_Place], left: int) -> Rows | None:
        """The next tokens of the prompt that this place reads."""
        job = place.job
        assert job is not None
        if left <= 0:
            return None
        if place.fresh:
            best = max((each.cached for each in self._places), key=lambda cached: cached.reusable(job.prompt))
            held = best.reusable(job.prompt)
            for other in before:
                if other.job is not None and common(job.prompt, other.job.prompt) >= held + _WORTH_WAITING:
                    return None
            if held > place.cached.begin(job.prompt):
                place.cached.adopt(best, held)
            place.fresh, place.reused = False, held
        chunk = job.prompt[place.cached.length : place.cached.length + left]
        count = len(chunk)
        last = place.cached.length + count == len(job.prompt)
        return Rows(tuple(chunk), tuple(range(-1, count - 1)), (count - 1,) if last else ())


def _run(asked: Sequence[tuple[Runner, Rows]]) -> Sequence[Scores]:
    first, rows = asked[0]
    if len(asked) == 1:
        return [first.forward(rows)]
    assert isinstance(first, SharingRunner)
    return first.forward_many(asked)  # type: ignore[arg-type]


def _most_positions(job: Job, runner: Runner) -> int:
    """That its cache may come to hold."""
    return min(len(job.prompt) + job.stops.room, runner.context_size)
