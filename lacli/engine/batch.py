"""Many replies at once: each has a sequence of its own, and every forward runs the rows of all.

A row costs far less beside others than alone, so the replies of a batch end sooner together than one after the other.
Each is decoded as `engine.loop` does it; this file only assigns slots: a slot that becomes free goes to the next job,
whose prompt is read in chunks beside the steps of the others. Jobs may come while others run, and each may be
cancelled by itself. The beginning that a prompt shares with one that some slot holds is copied. A runner that cannot
share has one slot, and its jobs run one after another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lacli.drafts.base import Sources
from lacli.engine.controller import Controller
from lacli.engine.decoder import Decoder
from lacli.engine.metrics import MeteredDecoder, ended, since_ms
from lacli.engine.sampler import Sampler
from lacli.engine.sequence import CachedSequence, common
from lacli.engine.step import Finish, ForwardRequest, ForwardResult, Read, Step
from lacli.engine.stop import Stops
from lacli.errors import LacliError, OutOfMemory
from lacli.models.base import Rows, Runner, Scores, SharingRunner

_LEAST_READ = 16
"""Rows of prompts that are read beside the steps, however many those are."""
_LONGEST_FORWARD_MS = 800.0
"""A forward is planned to take no longer, as a cancel waits for it; twice the time of one row, if that is more."""
_WORTH_WAITING = 16
"""Common tokens from which on a prompt waits for another slot to read them."""
_GOOD_ENOUGH = 0.98
"""Of the best rate of tokens: fewer slots begin and end sooner, and take less memory."""

Restore = Callable[[CachedSequence, Sequence[int]], None]
"""Gives a sequence more of the beginning of a prompt than it holds, from wherever that is kept."""

JobEvent = tuple[int, Step | Read | LacliError]
"""The key of a job, and a step of its reply, what was read of its prompt, or why it has no reply."""


@dataclass(frozen=True, slots=True)
class Job:
    """One reply to write."""

    prompt: Sequence[int]
    sources: Sources
    """Its own: other replies are written at the same time (`Sources.fork`)."""
    sampler: Sampler
    stops: Stops
    controller: Controller
    """Of its project; all controllers of a batch share one cost curve."""
    restore: Restore = lambda cached, prompt: None
    cancel: Callable[[], bool] = lambda: False
    """Read between forwards; ends this job alone."""


class _Slot:
    """A sequence, and the job that uses it."""

    def __init__(self, cached: CachedSequence) -> None:
        self.cached = cached
        self.key = -1
        self.job: Job | None = None
        self.fresh = False
        """Whether nothing of the prompt has been read or copied yet."""
        self.reused = self.most_positions = 0
        self.decoder: MeteredDecoder | None = None
        """None while the prompt is read."""
        self.request: ForwardRequest | None = None

    def assign(self, key: int, job: Job) -> None:
        self.key, self.job, self.fresh = key, job, True
        self.most_positions = _most_positions(job, self.cached.runner)

    def planned(self, decoder: MeteredDecoder, others: int, tokens: float) -> ForwardRequest:
        """The rows of the next step beside this many rows of others, from which these tokens are expected."""
        assert self.job is not None
        controller = self.job.controller
        controller.set_others(others, tokens)
        try:
            return decoder.rows()
        finally:  # its project's next reply may be written alone
            controller.set_others(0, 0.0)

    def answer(self, result: ForwardResult) -> Step:
        """The step that results from a forward; the first step, if its rows were the prompt's last."""
        if self.decoder is not None:
            return self.decoder.answer(result)
        job = self.job
        assert job is not None
        decoder = Decoder(job.prompt, self.cached, job.sources, job.sampler, job.stops, job.controller)
        self.decoder = MeteredDecoder(decoder)
        return self.decoder.start(result.scores)

    def release(self) -> None:
        self.job = self.decoder = self.request = None

    def bytes(self) -> int:
        """The size of its cache, or what that may grow to with this job."""
        runner = self.cached.runner
        if not isinstance(runner, SharingRunner):
            return 0
        return max(runner.cache_bytes, runner.position_bytes * self.most_positions if self.job is not None else 0)


def best_slots(controller: Controller, cached: CachedSequence) -> int:
    """How many replies are written fastest at once, a row each: as few as come near the best rate."""
    if not isinstance(cached.runner, SharingRunner):
        return 1
    rates = [count / controller.cost(count) for count in range(1, _most_rows(controller) + 1)]
    enough = _GOOD_ENOUGH * max(rates)
    return next(count for count, rate in enumerate(rates, start=1) if rate >= enough)


def _most_rows(controller: Controller) -> int:
    """Of a forward: as many as a cancel can wait for."""
    cost, most = controller.cost, controller.limits.max_rows
    longest = max(_LONGEST_FORWARD_MS, 2 * cost(1))
    return next((count - 1 for count in range(2, most + 1) if cost(count) > longest), most)


class Batch:
    """The slots of one model; `decode` fills them."""

    def __init__(self, cached: CachedSequence, controller: Controller, most: int, most_bytes: float) -> None:
        """cached: the first slot; controller: has the cost curve, and the bound on the rows of a forward; most: slots,
        1 where the runner cannot share; most_bytes: of all caches."""
        self._slots = [_Slot(cached)]
        self._cost = controller.cost
        self._most = most
        self._most_bytes = most_bytes
        self._most_rows = _most_rows(controller)

    def decode(
        self, jobs: Iterator[tuple[int, Job | LacliError]], cancel: Callable[[], bool] = lambda: False
    ) -> Iterator[JobEvent]:
        """Yield the steps of all jobs and the progress of their prompts, each with its job's key; a job's last step has
        `finish` set.

        A job is taken from `jobs` when there is a slot for it; an iterator that has ended is asked again, as more may
        have come. If a job fails, its error is yielded instead, and the others go on. `cancel` is read between
        forwards; then every job that was started ends as cancelled.
        """
        waiting: list[tuple[int, Job]] = []
        try:
            while True:
                yield from self._drop_cancelled()
                yield from self._assign(jobs, waiting)
                active = [slot for slot in self._slots if slot.job is not None]
                if not active:
                    return
                if cancel():
                    yield from ((slot.key, ended(Finish.CANCELLED)) for slot in active)
                    return
                if len(active) == 1 and active[0].decoder is None:
                    yield from self._read_alone(active[0], cancel)
                else:
                    yield from self._forward(active)
        finally:
            for slot in self._slots:
                slot.release()

    def sequence(self, key: int) -> CachedSequence | None:
        """What holds the reply of this job, until `decode` goes on."""
        return next((slot.cached for slot in self._slots if slot.key == key), None)

    def _drop_cancelled(self) -> Iterator[JobEvent]:
        """Free the slots of jobs that are no longer wanted."""
        for slot in self._slots:
            if slot.job is not None and slot.job.cancel():
                slot.release()
                yield slot.key, ended(Finish.CANCELLED)

    def _assign(
        self, jobs: Iterator[tuple[int, Job | LacliError]], waiting: list[tuple[int, Job]]
    ) -> Iterator[JobEvent]:
        """Give free slots to the next jobs; `waiting` keeps one that there was no memory for."""
        while True:
            if not waiting:
                if len(self._slots) >= self._most and all(slot.job is not None for slot in self._slots):
                    return
                key, taken = next(jobs, (-1, None))
                if taken is None:
                    return
                if isinstance(taken, LacliError):
                    yield key, taken
                    continue
                waiting.append((key, taken))
            key, job = waiting[0]
            if job.stops.room <= 0 or job.cancel():
                waiting.clear()
                yield key, ended(Finish.LENGTH if job.stops.room <= 0 else Finish.CANCELLED)
                continue
            slot = self._free_slot(job)
            if slot is None:
                return
            waiting.clear()
            slot.assign(key, job)

    def _free_slot(self, job: Job) -> _Slot | None:
        """The free slot whose cache serves this job best, or a new one; None where all are taken or memory is."""
        free = [slot for slot in self._slots if slot.job is None]
        taken = sum(slot.bytes() for slot in self._slots)
        first = self._slots[0].cached.runner
        if len(free) < len(self._slots) and isinstance(first, SharingRunner):
            needed = first.position_bytes * _most_positions(job, first)
            if taken + max(0, needed - max((slot.bytes() for slot in free), default=0)) > self._most_bytes:
                return None
        if free:
            return max(free, key=lambda slot: slot.cached.reusable(job.prompt))
        if len(self._slots) >= self._most or not isinstance(first, SharingRunner):
            return None
        self._slots.append(_Slot(CachedSequence(first.sibling())))
        return self._slots[-1]

    def _read_alone(self, slot: _Slot, cancel: Callable[[], bool]) -> list[JobEvent]:
        """Prefill a prompt while no other reply is under way: one chunk of the runner's own size, so that others may
        join, or all of it where none can.

        Some runners that cannot share start each prefill over (those with dynamic RoPE scaling), so that a prompt read
        chunk by chunk would never end.
        """
        job, cached = slot.job, slot.cached
        assert job is not None
        if slot.fresh:
            self._take_what_is_known(slot, job)
        left = len(job.prompt) - slot.cached.reusable(job.prompt)
        one_chunk = isinstance(cached.runner, SharingRunner)
        started = time.perf_counter()
        scores = cached.start(job.prompt, lambda done: done >= left or not (one_chunk or cancel() or job.cancel()))
        events: list[JobEvent] = [(slot.key, Read(cached.length, slot.reused, since_ms(started)))]
        if scores is not None:
            events.append(self._answer(slot, ForwardResult(scores, 0.0)))
        return events

    def _take_what_is_known(self, slot: _Slot, job: Job) -> None:
        """Copy the beginning of a prompt from the slot that holds most of it, and restore what else is kept of it."""
        best = max((each.cached for each in self._slots), key=lambda cached: cached.reusable(job.prompt))
        held = best.reusable(job.prompt)
        if held > slot.cached.begin(job.prompt):
            slot.cached.adopt(best, held)
        job.restore(slot.cached, job.prompt)
        slot.fresh, slot.reused = False, slot.cached.length

    def _forward(self, active: Sequence[_Slot]) -> list[JobEvent]:
        """One forward for all active slots, and the events that result."""
        running = [(slot, rows) for slot, rows in self._requests(active) if rows is not None]
        counts = [len(rows.token_ids) for _, rows in running]
        started = time.perf_counter()
        try:
            results = _run([(slot.cached.runner, rows) for slot, rows in running])
        except OutOfMemory:
            if not _shrink(running):
                raise
            return []  # nothing was committed: the same steps again, with fewer guesses
        spent_ms = since_ms(started)
        if all(slot.request is not None for slot, _ in running):  # reading a prompt is cheaper than so many steps
            self._cost.learn(sum(counts), spent_ms)
        plain_ms = self._cost.plain_ms(sum(counts), spent_ms)
        events: list[JobEvent] = []
        for (slot, rows), scores, count in zip(running, results, counts, strict=True):
            own_ms = spent_ms * count / sum(counts)
            if slot.decoder is None:
                slot.cached.keep(rows, range(count))
                events.append((slot.key, Read(slot.cached.length, slot.reused, own_ms)))
            if len(scores):
                events.append(self._answer(slot, ForwardResult(scores, own_ms, plain_ms)))
        return events  # all at once: between them the reader may run other forwards

    def _answer(self, slot: _Slot, result: ForwardResult) -> JobEvent:
        """The step that results from a forward; the slot is released if its reply has ended."""
        key = slot.key
        try:
            step: Step | LacliError = slot.answer(result)
        except LacliError as error:
            step = error
        if isinstance(step, LacliError) or step.finish is not None:
            slot.release()
        return key, step

    def _requests(self, active: Sequence[_Slot]) -> Iterator[tuple[_Slot, Rows | None]]:
        """The rows of each slot, those of prompts after those of steps; None for a prompt that waits."""
        writing = [(slot, slot.decoder) for slot in active if slot.decoder is not None]
        rows, tokens = len(writing), float(len(writing))
        for slot, decoder in writing:
            slot.request = slot.planned(decoder, rows - 1, tokens - 1.0)
            rows += len(slot.request.rows.token_ids) - 1
            tokens += slot.request.expected - 1.0
            yield slot, slot.request.rows
        left = max(self._most_rows - rows, _LEAST_READ)
        readers = [slot for slot in active if slot.decoder is None]
        for index, slot in enumerate(readers):
            chunk = self._chunk(slot, readers[:index], left)
            left -= len(chunk.token_ids) if chunk is not None else 0
            yield slot, chunk

    def _chunk(self, slot: _Slot, before: Sequence[_Slot], left: int) -> Rows | None:
        """The next tokens of the prompt that this slot reads."""
        job = slot.job
        assert job is not None
        if left <= 0:
            return None
        if slot.fresh:
            held = max(each.cached.reusable(job.prompt) for each in self._slots)
            for other in before:
                if other.job is not None and common(job.prompt, other.job.prompt) >= held + _WORTH_WAITING:
                    return None
            self._take_what_is_known(slot, job)
        chunk = job.prompt[slot.cached.length : slot.cached.length + left]
        count = len(chunk)
        last = slot.cached.length + count == len(job.prompt)
        return Rows(tuple(chunk), tuple(range(-1, count - 1)), (count - 1,) if last else ())


def _run(asked: Sequence[tuple[Runner, Rows]]) -> Sequence[Scores]:
    first, rows = asked[0]
    if len(asked) == 1:
        return [first.forward(rows)]
    assert isinstance(first, SharingRunner)
    return first.forward_many(asked)  # type: ignore[arg-type]


def _shrink(running: Sequence[tuple[_Slot, Rows]]) -> bool:
    """Have all replies together guess less after a forward that there was no memory for; False where none guessed."""
    steps = [(slot.job, len(rows.token_ids)) for slot, rows in running if slot.decoder is not None]
    total = sum(count for _, count in steps)
    if total == len(steps):
        return False
    for job, _ in steps:
        assert job is not None
        job.controller.shrink(total)
    return True


def _most_positions(job: Job, runner: Runner) -> int:
    """That its cache may come to hold."""
    return min(len(job.prompt) + job.stops.room, runner.context_size)
