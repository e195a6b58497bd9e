"""A thread that drives a `Replier`, so that the UI never waits: calls go in, events come out through a queue.

`wake` is called from that thread when the queue is no longer empty; `take` empties it. Calls are carried out one after
the other; reading ahead (`warm`) makes way for any other call. Each call ends with exactly one `Ended`, whatever
happens: done, failed, cancelled before it began or while it waits, or dropped by `close`.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from lacli.assistant.base import Replier
from lacli.events import Event, Preview, Request

What = Literal["open", "reply", "preview", "warm"]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Something the engine is asked for."""

    what: What
    request: Request = field(default_factory=Request)
    cancelled: threading.Event = field(default_factory=threading.Event)
    _claimed: threading.Lock = field(default_factory=threading.Lock)

    def claim(self) -> bool:
        """Claim it, to carry it out or end it; True for one caller only."""
        return self._claimed.acquire(blocking=False)


@dataclass(frozen=True, slots=True)
class Ended:
    """The last event of a call."""

    error: BaseException | None = None
    preview: Preview | None = None


_CANCEL_S = 1.0
Arrival = tuple[Call, Event | Ended]


class _Abandoned(BaseException):
    """Raised out of loading when nobody wants the model any more."""


class Bridge:
    """The only user of its `Replier`."""

    def __init__(self, replier: Replier, wake: Callable[[], None]) -> None:
        self.replier = replier
        self._wake = wake
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[Arrival] = queue.SimpleQueue()
        self._awake = threading.Event()
        self._warming: Call | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="bridge", daemon=True)
        self._thread.start()

    def call(self, what: What, request: Request = Request()) -> Call:  # noqa: B008 - frozen
        """Make a call; its events come by `take`, `Ended` last."""
        call = Call(what, request)
        if self._warming is not None:
            self.cancel(self._warming)
        self._warming = call if what == "warm" else None
        self._calls.put(call)
        if self._closed:
            self._end_waiting()
        return call

    def cancel(self, call: Call) -> None:
        """End it as soon as possible, at once if it has not begun."""
        call.cancelled.set()
        if call.claim():
            self._put(call, Ended())

    def take(self) -> list[Arrival]:
        """All events since the last time."""
        self._awake.clear()
        event = []
        while True:
            try:
                event.append(self._events.get_nowait())
            except queue.Empty:
                return event

    def close(self) -> None:
        """Cancel everything and close the engine; loading that reports nothing is cut off."""
        self._closed = True
        self._end_waiting()
        self._thread.join(_CANCEL_S)
        self.replier.close()
        self._thread.join(_CANCEL_S)

    def _end_waiting(self) -> None:
        """End the calls that wait, and then the thread."""
        while True:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                break
            if call is not None:
                self.cancel(call)
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            if self._closed:
                self.cancel(call)
            elif call.claim():
                self._carry_out(call)

    def _carry_out(self, call: Call) -> None:
        ended = Ended()
        try:
            if call.what == "reply":
                for event in self.replier.reply(call.request, lambda: self._is_cancelled(call)):
                    self._put(call, event)
            elif call.what == "preview":
                ended = Ended(preview=self.replier.preview(call.request, lambda event: self._report(call, event)))
            elif call.what == "warm":
                self.replier.warm(call.request, lambda: self._is_cancelled(call))
            else:
                self.replier.open(lambda event: self._report(call, event))
        except _Abandoned:
            pass
        except BaseException as error:  # a mistake of ours, too, is shown like a failure, as the UI must live on
            ended = Ended(error)
        self._put(call, ended)

    def _report(self, call: Call, event: Event) -> None:
        """Report the progress of loading, or leave it: it cannot be left anywhere else."""
        if self._closed:
            raise _Abandoned
        self._put(call, event)

    def _is_cancelled(self, call: Call) -> bool:
        return self._closed or call.cancelled.is_set()

    def _put(self, call: Call, event: Event | Ended) -> None:
        self._events.put((call, event))
        if not self._awake.is_set():
            self._awake.set()
            self._wake()
