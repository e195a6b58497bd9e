"""One thread that makes the calls of a `Replier`, for front ends whose own thread must not wait.

Calls run one after the other. Each ends with exactly one `Ended`, whatever becomes of it: done, failed, cancelled
before it began or while it ran, or abandoned by `stop`. Knows neither terminal nor widget.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, cast

from lacli.assistant.base import ProjectReplier, Replier
from lacli.assistant.cancel import CancelToken
from lacli.config import Settings
from lacli.events import Event, Preview, Request

What = Literal["open", "reply", "preview", "warm"]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call of the replier."""

    what: What
    request: Request = field(default_factory=Request)
    settings: Settings | None = None
    """The project it is for; None leaves it to the replier's own. Only a `ProjectReplier` takes others."""
    cancelled: CancelToken = field(default_factory=CancelToken)
    _claimed: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)

    def claim(self) -> bool:
        """Take on the duty to end the call; True for one caller only."""
        return self._claimed.acquire(blocking=False)

    def end(self) -> None:
        """Wake whoever waits for its end; for the thread that has delivered `Ended`."""
        self._ended.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for its end. Returns whether it has come."""
        return self._ended.wait(timeout_s)


@dataclass(frozen=True, slots=True)
class Ended:
    """The last that is delivered of a call."""

    error: BaseException | None = None
    preview: Preview | None = None


class _Abandoned(BaseException):
    """Leaves a loading that was cancelled, or that nobody waits for any more.

    No library may take it for a failure of its own.
    """


class CallThread:
    """The thread, and the only user of its replier from now on."""

    def __init__(self, replier: Replier, deliver: Callable[[Call, Event | Ended], None]) -> None:
        """deliver: called with every event of a call, `Ended` last, mostly in the thread; it must not wait."""
        self._replier = replier
        self._deliver = deliver
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._running: Call | None = None
        self._warming: Call | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="calls", daemon=True)
        self._thread.start()

    def call(self, what: What, request: Request = Request()) -> Call:  # noqa: B008 - frozen
        """Have the call made after those that wait; reading ahead (`warm`) gives way to it."""
        return self.put(Call(what, request))

    def put(self, call: Call) -> Call:
        """The same with a call that somebody knows already, who then misses nothing that is delivered of it."""
        self.stop_warming()
        self._warming = call if call.what == "warm" else None
        self._calls.put(call)
        if self._stopped:
            self._end_waiting()
        return call

    def cancel(self, call: Call) -> None:
        """End the call as soon as possible: at once while it waits, after the current step while it runs."""
        call.cancelled.cancel()
        if call.claim():
            self._end(call, Ended())

    def stop_warming(self) -> Call | None:
        """Cancel reading ahead. Returns the call, to be waited for by who needs the replier for itself."""
        warming = self._warming
        if warming is not None:
            self.cancel(warming)
        return warming

    def stop(self) -> None:
        """Cancel every call and end the thread; a loading ends at its next report."""
        self._stopped = True
        running = self._running
        if running is not None:
            running.cancelled.cancel()
        self._end_waiting()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the end of the thread."""
        self._thread.join(timeout_s)

    def _end_waiting(self) -> None:
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
            if not call.claim():
                continue
            self._running = call
            if self._stopped:  # after `_running` was set: `stop` sees the one or we the other
                call.cancelled.cancel()
                self._end(call, Ended())
            else:
                self._end(call, self._make(call))
            self._running = None

    def _make(self, call: Call) -> Ended:
        def report(event: Event) -> None:
            if self._stopped or call.cancelled():
                raise _Abandoned
            self._deliver(call, event)

        try:
            if call.settings is not None:
                cast(ProjectReplier, self._replier).enter(call.settings)
            if call.what == "reply":
                for event in self._replier.reply(call.request, call.cancelled):
                    self._deliver(call, event)
            elif call.what == "preview":
                return Ended(preview=self._replier.preview(call.request, report))
            elif call.what == "warm":
                self._replier.warm(call.request, call.cancelled)
            else:
                self._replier.open(report)
        except _Abandoned:
            pass
        except BaseException as error:  # a bug of ours is shown like a failure, too: the front end must live on
            return Ended(error)
        return Ended()

    def _end(self, call: Call, ended: Ended) -> None:
        self._deliver(call, ended)
        call.end()
