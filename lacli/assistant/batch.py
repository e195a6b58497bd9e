"""Many replies at once: the engine's batch of steps into the events of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from lacli.assistant.base import Cancel
from lacli.assistant.failures import translated_errors
from lacli.assistant.reply import Reply, refresh_files
from lacli.errors import LacliError
from lacli.events import Event, Failed, Request

if TYPE_CHECKING:
    from lacli.assistant.kept_prompts import KeptPrompts
    from lacli.assistant.loaded import Loaded
    from lacli.engine.batch import Job
    from lacli.engine.sequence import CachedSequence

_SHARE_OF_MEMORY = 0.5
"""Of what is free now, for all KV caches of a batch together."""


def replies(
    loaded: Loaded, requests: Iterable[Request], seen_notices: set[str], cancel: Cancel
) -> Iterator[tuple[int, Event | Failed]]:
    """See `BatchReplier.replies`. Requests are taken, and their prompts tokenised, when there is a place for them."""
    from lacli.engine.batch import Batch, best_slots
    from lacli.engine.step import Read
    from lacli.models.registry.limits import free_memory

    writing: dict[int, Reply] = {}
    said: list[tuple[int, Event]] = []
    reading = loaded.reading()  # the same for all, so that equal requests have equal prompts

    def first_tries() -> Iterator[tuple[int, Job | LacliError]]:
        for index, request in enumerate(requests):
            try:
                reply = Reply(loaded, request, seen_notices, reading)
            except LacliError as error:
                yield index, error
                continue
            said.extend((index, notice) for notice in reply.begin())
            writing[index] = reply
            yield index, reply.job()

    jobs = _Jobs(first_tries())

    places = best_slots(loaded.controller, loaded.cached)
    most_bytes = _SHARE_OF_MEMORY * free_memory()
    batch = Batch(loaded.cached, loaded.controller, places, most_bytes, partial(_restore, loaded.kept))
    try:
        with translated_errors():
            for index, came in batch.decode(jobs, cancel):
                yield from said
                said.clear()
                if isinstance(came, LacliError):
                    if index in writing:
                        writing.pop(index).leave()
                    yield index, Failed(came.message, came.hint, came.exit_code)
                elif isinstance(came, Read):
                    yield index, writing[index].read(came)
                else:
                    yield index, writing[index].take(came)
                    if came.finish is not None and not writing[index].over:
                        jobs.add(index, writing[index].job())
                    elif came.finish is not None:
                        reply = writing.pop(index)
                        reply.leave()
                        reply.keep_read(batch.sequence(index))
                        yield from ((index, event) for event in reply.end())
    finally:
        refresh_files(loaded)
        for reply in writing.values():
            reply.leave()


def _restore(kept: KeptPrompts | None, cached: CachedSequence, prompt: Sequence[int]) -> None:
    if kept is not None:
        kept.restore(cached, prompt)


class _Jobs(Iterator[tuple[int, "Job | LacliError"]]):
    """What a batch has to do: replies that begin again first, also after all others were taken."""

    def __init__(self, first_tries: Iterator[tuple[int, Job | LacliError]]) -> None:
        self._first_tries = first_tries
        self._again: list[tuple[int, Job]] = []

    def add(self, index: int, job: Job) -> None:
        """A reply begins again."""
        self._again.append((index, job))

    def __next__(self) -> tuple[int, Job | LacliError]:
        return self._again.pop(0) if self._again else next(self._first_tries)
