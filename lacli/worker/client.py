"""An assistant whose model lives in another process: the front end's half of `protocol`.

Never imports torch. By default the process is started by the first call, and again by the first call after it has died;
`attached` makes one that asks an engine which runs already. Nothing here polls: a call sleeps until the engine answers
or dies, and a cancel is sent by the thread that cancels. Safe to close from another thread than the one that is inside
a call.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from lacli.assistant.base import Cancel, Report, check_model, ignore, never
from lacli.config import Settings
from lacli.errors import LacliError, WorkerDied
from lacli.events import Event, Failed, Notice, Preview, Request
from lacli.worker.channel import Channel, RunningCalls, linked
from lacli.worker.process import WorkerProcess, own_command
from lacli.worker.protocol import Call, Done, ErrorMessage, EventMessage

Connect = Callable[[Settings], Channel]
"""Makes a connection to an engine with these settings. Raises LacliError."""

_AT_A_TIME = 16
"""Replies that an engine is asked for at once, of many: more than most write side by side."""


class WorkerAssistant:
    """See `base.BatchReplier`. `command` starts another worker than ours, `connect` reaches one in another way, and
    `channel` is a connection that there is already."""

    def __init__(
        self,
        settings: Settings,
        command: Sequence[str] | None = None,
        connect: Connect | None = None,
        channel: Channel | None = None,
    ) -> None:
        # A process that is started later must look where this one would, wherever the user has gone meanwhile.
        self._settings = replace(settings, folder=(settings.folder or Path()).absolute())
        self._connect = connect or (lambda settings: WorkerProcess(tuple(command or own_command()), settings))
        self._channel = channel
        self._channel_lock = threading.Lock()
        self._call_ids = itertools.count(1)
        self._pending_notices: list[Notice] = []
        """For the next call that has a reader."""

    @property
    def pid(self) -> int | None:
        """The process id of a worker of our own while it lives."""
        channel = self._channel
        return channel.pid if channel is not None and channel.death is None else None

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`. A report that raises cancels it."""
        with closing(self._call("open")) as events:
            for event in events:
                if not isinstance(event, Done):
                    report(event)

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`. Raises WorkerDied if the engine dies before the reply is finished."""
        with closing(self._call("reply", request, cancel)) as events:
            for event in events:
                if not isinstance(event, Done):
                    yield event

    def replies(self, requests: Iterable[Request], cancel: Cancel = never) -> Iterator[tuple[int, Event | Failed]]:
        """See `BatchReplier.replies`. The engine is asked for a few at a time, and writes as many at once as pays.

        Raises WorkerDied if it dies meanwhile.
        """
        channel, waiting = self._ensure_connected(), enumerate(requests)
        yield from ((0, notice) for notice in self._taken_notices())
        places: dict[int, int] = {}
        with RunningCalls(channel) as calls, linked(cancel, calls):
            while True:
                while len(calls) < _AT_A_TIME and not cancel() and (taken := next(waiting, None)) is not None:
                    call = self._numbered(channel, "reply", taken[1])
                    places[call.id] = taken[0]
                    calls.add(call)
                answer = next(calls.answers(cancel), None)
                if answer is None:
                    return
                if isinstance(answer, WorkerDied):
                    self._forget(channel)
                    raise answer
                if isinstance(answer, EventMessage):
                    yield places[answer.id], answer.event
                elif isinstance(answer, ErrorMessage):
                    error = answer.to_error()
                    if isinstance(error, WorkerDied):  # no fault of that request: it may be made again
                        raise error
                    yield places[answer.id or 0], Failed(error.message, error.hint, error.exit_code)

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """See `Replier.preview`."""
        with closing(self._call("preview", request)) as events:
            for event in events:
                if not isinstance(event, Done):
                    report(event)
                elif event.preview is not None:
                    return event.preview
        raise LacliError("the engine gave no preview")

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """See `Replier.warm`."""
        with closing(self._call("warm", request, cancel)) as events:
            for event in events:
                if isinstance(event, Notice):
                    self._pending_notices.append(event)

    def enter(self, settings: Settings) -> None:
        """See `ProjectReplier.enter`. The worker is told with its next call."""
        check_model(self._settings, settings)
        self._settings = replace(settings, folder=(settings.folder or Path()).absolute())

    def close(self) -> None:
        """See `Replier.close`. Waits a few seconds at most for a worker of our own to end by itself."""
        with self._channel_lock:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def _call(
        self, what: str, request: Request | None = None, cancel: Cancel = never
    ) -> Generator[Event | Done, None, None]:
        """The events of one call, `Done` last; closing the generator cancels the call."""
        channel = self._ensure_connected()
        if what != "warm":
            yield from self._taken_notices()
        with channel.call(self._numbered(channel, what, request)) as call, linked(cancel, call):
            for answer in call.answers(cancel):
                if isinstance(answer, EventMessage):
                    yield answer.event
                elif isinstance(answer, Done):
                    yield answer
                elif isinstance(answer, ErrorMessage):
                    raise answer.to_error()
                else:
                    self._forget(channel)
                    raise answer

    def _taken_notices(self) -> list[Notice]:
        notices, self._pending_notices = self._pending_notices, []
        return notices

    def _numbered(self, channel: Channel, what: str, request: Request | None) -> Call:
        """The call as it is sent, with the settings where they are not those that the engine knows."""
        told = self._settings if channel.settings != self._settings else None
        channel.settings = self._settings
        return Call(next(self._call_ids), what, request or Request(), told)

    def _forget(self, channel: Channel) -> None:
        """Drop a connection whose death has been reported."""
        with self._channel_lock:
            if self._channel is channel:
                self._channel = None

    def _ensure_connected(self) -> Channel:
        """The connection, a new one if it has died; a death while no call was running becomes a notice."""
        with self._channel_lock:
            if self._channel is not None and self._channel.death is not None:
                notice = Notice(f"{self._channel.death.message}; a new one was started", "warning")
                self._pending_notices.append(notice)
                self._channel = None
            if self._channel is None:
                self._channel = self._connect(self._settings)
            return self._channel
