"""A front end's half of one connection to an engine: what was asked, and where the answers go.

A process of our own (`process`) and a socket of an engine that runs already (`attached`) differ in how the bytes come
and how the connection ends; everything between is here. Each has two threads for them: one writes, one reads.

Without locks: a generator that nobody holds any more may cancel its call from inside any of these methods.
"""

from __future__ import annotations

import contextlib
import io
import queue
from collections.abc import Iterator
from typing import BinaryIO

from lacli.assistant.base import Cancel, never
from lacli.assistant.cancel import CancelToken
from lacli.config import Settings
from lacli.errors import WorkerDied
from lacli.worker import protocol
from lacli.worker.protocol import (
    Call,
    CancelCall,
    ClientMessage,
    Done,
    ErrorMessage,
    EventMessage,
    Greeting,
    InvalidLine,
    Places,
)

_PREDICATE_S = 0.1
"""How often a cancel that is a plain function, to which nobody can subscribe, is asked while nothing arrives."""
JOIN_S = 0.2
"""How long closing waits for each thread."""

Answer = EventMessage | Done | ErrorMessage | WorkerDied


class Channel:
    """One connection, from its greeting to its end."""

    def __init__(self, settings: Settings, pid: int | None = None) -> None:
        self.settings = settings
        """Those that the engine was told last."""
        self.pid = pid
        """The engine's process, where it is ours alone."""
        self.death: WorkerDied | None = None
        """Why the connection has ended; None while it is open."""
        self._closing = False
        self._answers: dict[int, queue.SimpleQueue[Answer]] = {}
        """The queue of every running call, by its id."""
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._protocol_error = ""

    def call(self, call: Call) -> RunningCalls:
        """Send a call; its answers are read from the result."""
        running = RunningCalls(self)
        running.add(call)
        return running

    def start(self, call: Call, answers: queue.SimpleQueue[Answer]) -> None:
        """Send a call whose answers go into this queue."""
        self._answers[call.id] = answers  # before it is sent: the answer may come at once
        self.send(call)
        if self.death is not None:  # perhaps after it was told to every call
            answers.put(self.death)

    def send(self, message: ClientMessage) -> None:
        """Have the message written; never waits."""
        self._outbox.put(protocol.encode(message))

    def forget(self, call_id: int) -> None:
        """Drop whatever else arrives for this call."""
        self._answers.pop(call_id, None)

    def close(self) -> None:
        """End the connection."""
        raise NotImplementedError

    def deliver(self, message: EventMessage | Done | ErrorMessage) -> None:
        """Pass an answer on to the call it belongs to, if that is still running."""
        answers = self._answers.get(message.id or 0)
        if answers is not None:
            answers.put(message)

    def _write(self, stream: io.RawIOBase) -> None:
        """Write the outbox until its end; an engine that does not read any more is noticed by the reader."""
        with stream:
            while (line := self._outbox.get()) is not None:
                rest = memoryview(line)
                with contextlib.suppress(OSError):
                    while rest:
                        rest = rest[stream.write(rest) or 0 :]

    def _read(self, stream: BinaryIO) -> None:
        """Deliver answers until the stream ends, or what comes cannot be understood."""
        for line in protocol.read_lines(stream):
            message = protocol.parse_event(line)
            if not line.endswith(b"\n") and len(line) < protocol.MOST_BYTES:
                return  # it died in the middle of this line
            if isinstance(message, InvalidLine):
                self._protocol_error = message.reason
            elif isinstance(message, Greeting):
                if message.protocol != protocol.PROTOCOL:
                    other = f"it speaks version {message.protocol} of the protocol, not {protocol.PROTOCOL}"
                    self._protocol_error = other
            elif isinstance(message, ErrorMessage) and message.id is None:
                self._protocol_error = message.message
            elif not isinstance(message, Places):  # calls beyond those wait in the engine
                self.deliver(message)
            if self._protocol_error:
                return

    def _died(self, death: WorkerDied) -> None:
        """Tell every running call, and those that come."""
        self.death = death
        for answers in list(self._answers.values()):
            answers.put(death)


class RunningCalls:
    """Calls that were sent, whose answers are read together; as a context manager: leaving it cancels the rest."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._running: dict[int, None] = {}
        """Calls whose last answer was not read yet."""
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._cancelled = False

    def __len__(self) -> int:
        return len(self._running)

    def add(self, call: Call) -> None:
        """Send another one."""
        self._running[call.id] = None
        self._channel.start(call, self._answers)
        if self._cancelled:
            self._channel.send(CancelCall(call.id))

    def answers(self, cancel: Cancel) -> Iterator[Answer]:
        """Every answer, the last one of each call included; sleeps in between."""
        pollable = not isinstance(cancel, CancelToken) and cancel is not never
        while self._running:
            if pollable and cancel():
                self.cancel()
            try:
                answer = self._answers.get(timeout=_PREDICATE_S if pollable else None)
            except queue.Empty:
                continue
            if isinstance(answer, WorkerDied):
                self._forget(*self._running)
            elif not isinstance(answer, EventMessage):
                self._forget(answer.id or 0)
            yield answer

    def cancel(self) -> None:
        """Tell the engine, once, that nothing of this is wanted any longer; never waits."""
        if not self._cancelled:
            self._cancelled = True
            for call_id in tuple(self._running):
                self._channel.send(CancelCall(call_id))

    def _forget(self, *call_ids: int) -> None:
        for call_id in call_ids:
            self._running.pop(call_id, None)
            self._channel.forget(call_id)

    def __enter__(self) -> RunningCalls:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        self._forget(*self._running)


@contextlib.contextmanager
def linked(cancel: Cancel, calls: RunningCalls) -> Iterator[None]:
    """While the block runs, a cancel is sent to the engine at once, even while nothing arrives."""
    with cancel.subscribed(calls.cancel) if isinstance(cancel, CancelToken) else contextlib.nullcontext():
        yield
