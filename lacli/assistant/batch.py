"""Many replies at once, also for different projects: turns the steps of the engine's batch into events of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacli.assistant.base import Cancel, never
from lacli.assistant.failures import translated_errors
from lacli.assistant.reply import Reply, refresh_files
from lacli.errors import LacliError
from lacli.events import Event, Failed, Request

if TYPE_CHECKING:
    from lacli.assistant.loaded import Loaded, LoadedModel
    from lacli.assistant.reading import Reading
    from lacli.config import Settings
    from lacli.engine.batch import Job
    from lacli.engine.controller import Controller
    from lacli.engine.sequence import CachedSequence

_SHARE_OF_MEMORY = 0.5
"""Of what is free now, for all KV caches of a batch together."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A reply to generate, and its own cancel."""

    reply: Reply
    cancel: Cancel = never


def replies(
    loaded: Loaded, requests: Iterable[Request], seen_notices: set[str], cancel: Cancel
) -> Iterator[tuple[int, Event | Failed]]:
    """See `BatchReplier.replies`. Requests are taken, and their prompts tokenised, when there is a place for them."""
    from lacli.engine.batch import best_slots

    reading = loaded.reading()  # the same for all, so that equal requests have equal prompts

    def begun() -> Iterator[tuple[int, Begun | LacliError]]:
        for index, request in enumerate(requests):
            try:
                taken: Begun | LacliError = Begun(Reply(loaded, request, seen_notices, reading))
            except LacliError as error:
                taken = error
            yield index, taken

    places = best_slots(loaded.controller, loaded.cached)
    for index, came in side_by_side(begun(), loaded.cached, loaded.controller, places, cancel):
        yield index, Failed(came.message, came.hint, came.exit_code) if isinstance(came, LacliError) else came


def side_by_side(
    begun: Iterator[tuple[int, Begun | LacliError]],
    cached: CachedSequence,
    controller: Controller,
    places: int,
    cancel: Cancel = never,
    ended: Callable[[Reply], None] = lambda reply: None,
) -> Iterator[tuple[int, Event | LacliError]]:
    """The events of all replies, each with the key of its reply, whose last event is `Finished` or an error.

    Replies may be added meanwhile: `begun` is asked again after it was exhausted. `cancel` ends all replies. `ended` is
    called with each reply that is complete. Raises errors that end all replies, such as running out of memory; accepted
    tokens are stored even then.
    """
    from lacli.engine.batch import Batch
    from lacli.engine.step import Read
    from lacli.models.registry.limits import free_memory

    batch = Batch(cached, controller, places, _SHARE_OF_MEMORY * free_memory())
    jobs = _Jobs(begun)
    try:
        with translated_errors():
            for key, came in batch.decode(jobs, cancel):
                yield from jobs.said()
                if isinstance(came, LacliError):
                    jobs.leave(key)
                    yield key, came
                    continue
                reply = jobs.writing[key].reply
                yield key, reply.read(came) if isinstance(came, Read) else reply.take(came)
                if isinstance(came, Read) or came.finish is None:
                    continue
                if not reply.over:
                    jobs.again(key)
                    continue
                jobs.leave(key)
                reply.keep_read(batch.sequence(key))
                ended(reply)
                yield from ((key, event) for event in reply.end())
    finally:
        jobs.close()


class _Jobs(Iterator[tuple[int, "Job | LacliError"]]):
    """The jobs of a batch. Replies that begin another try come first, also after all others were taken."""

    def __init__(self, begun: Iterator[tuple[int, Begun | LacliError]]) -> None:
        self.writing: dict[int, Begun] = {}
        self._begun = begun
        self._again: deque[int] = deque()
        self._said: list[tuple[int, Event]] = []
        self._used: dict[int, Loaded] = {}

    def __next__(self) -> tuple[int, Job | LacliError]:
        if self._again:
            key = self._again.popleft()
        else:
            key, taken = next(self._begun)
            if isinstance(taken, LacliError):
                return key, taken
            self.writing[key] = taken
            self._used[id(taken.reply.loaded)] = taken.reply.loaded
            self._said.extend((key, notice) for notice in taken.reply.begin())
        begun = self.writing[key]
        return key, begun.reply.job(begun.cancel)

    def again(self, key: int) -> None:
        """Queue another try of a reply."""
        self._again.append(key)

    def said(self) -> Iterator[tuple[int, Event]]:
        """Notices about the prompts that were taken, once."""
        said, self._said = self._said, []
        yield from said

    def leave(self, key: int) -> None:
        """Finish a reply that has ended; ignores one that never began."""
        begun = self.writing.pop(key, None)
        if begun is not None:
            begun.reply.leave()

    def close(self) -> None:
        """Finish all replies that are still under way."""
        for loaded in self._used.values():
            refresh_files(loaded)
        for key in list(self.writing):
            self.leave(key)


class Inbox(Iterator[tuple[int, Begun | LacliError]]):
    """A queue of replies for `side_by_side`. As an iterator it may be exhausted and later have items again."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Begun]] = deque()
        self._reading: tuple[object, Reading] | None = None

    def __next__(self) -> tuple[int, Begun | LacliError]:
        if not self._waiting:
            raise StopIteration
        return self._waiting.popleft()

    def add(
        self,
        key: int,
        loaded: Loaded,
        request: Request,
        seen_notices: set[str],
        settings: Settings,
        ahead_n: int,
        cancel: Cancel,
    ) -> None:
        """Queue a request. ahead_n: see `ReplyStats.ahead_n`. Raises PromptTooLong.

        Several completions of one place get the same prompt, so its size is chosen by what was cached before the first.
        """
        place = (settings, request.place)
        if self._reading is None or self._reading[0] != place:
            self._reading = place, loaded.reading()
        reply = Reply(loaded, request, seen_notices, self._reading[1], ahead_n)
        self._waiting.append((key, Begun(reply, cancel)))

    def clear(self) -> None:
        """Drop what was not begun."""
        self._waiting.clear()
        self._reading = None


def places_of(model: LoadedModel) -> int:
    """How many replies a model may generate at once; 1 if batching rows does not pay.

    Two more than is fastest, so that a completion need not wait for chats, nor a chat for somebody's batch.
    """
    from lacli.engine.batch import best_slots

    best = best_slots(plain_controller(model), model.cached)
    return best + 2 if best > 1 else 1


def plain_controller(model: LoadedModel) -> Controller:
    """A controller of no project, used for its cost curve."""
    from lacli.engine.controller import Controller, Limits

    return Controller(model.curve, Limits())
