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

    def call(self, call: Call) -> RunningCall:
        """Send a call; its answers are read from the result."""
        answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._answers[call.id] = answers  # before it is sent: the answer may come at once
        self.send(call)
        if self.death is not None:  # perhaps after it was told to every call
            answers.put(self.death)
        return RunningCall(self, call.id, answers)

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
            elif not isinstance(message, Places):  # no more is asked of an engine of our own than one front end needs
                self.deliver(message)
            if self._protocol_error:
                return

    def _died(self, death: WorkerDied) -> None:
        """Tell every running call, and those that come."""
        self.death = death
        for answers in list(self._answers.values()):
            answers.put(death)


class RunningCall:
    """A call that was sent, as a context manager: leaving it before its last answer cancels it."""

    def __init__(self, channel: Channel, call_id: int, answers: queue.SimpleQueue[Answer]) -> None:
        self._channel = channel
        self._id = call_id
        self._answers = answers
        self._ended = False
        self._cancelled = False

    def answers(self, cancel: Cancel) -> Iterator[Answer]:
        """Every answer, the last one included; sleeps in between."""
        pollable = not isinstance(cancel, CancelToken) and cancel is not never
        while not self._ended:
            if pollable and cancel():
                self.cancel()
            try:
                answer = self._answers.get(timeout=_PREDICATE_S if pollable else None)
            except queue.Empty:
                continue
            self._ended = not isinstance(answer, EventMessage)
            yield answer

    def cancel(self) -> None:
        """Tell the engine, once, that the call is no longer wanted; never waits."""
        if not self._cancelled:
            self._cancelled = True
            self._channel.send(CancelCall(self._id))

    def __enter__(self) -> RunningCall:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.forget(self._id)
        if not self._ended:
            self.cancel()


@contextlib.contextmanager
def linked(cancel: Cancel, call: RunningCall) -> Iterator[None]:
    """While the block runs, a cancel is sent to the engine at once, even while nothing arrives."""
    with cancel.subscribed(call.cancel) if isinstance(cancel, CancelToken) else contextlib.nullcontext():
        yield
