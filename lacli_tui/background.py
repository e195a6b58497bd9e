"""Runs work that may wait for a disk, a lock or another program in a thread of its own.

`Background(node).run(name, work)` posts the outcome to the node as `BackgroundResult(name, …)`. Of several calls with
the same name only the newest matters: while one runs, the next one waits, replacing any that was already waiting, and
an outdated result is not posted. `await in_thread(work)` is for coroutines. The threads are daemons, so that the
program never waits for them on exit, as it would for those of Textual's own workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from textual.message import Message
from textual.message_pump import MessagePump

Value = TypeVar("Value")


@dataclass
class BackgroundResult(Message, bubble=False):
    """The outcome of a piece of work."""

    name: str
    value: object
    error: Exception | None = None
    """To be shown to the user; `value` is None then."""


@dataclass(slots=True)
class _Queue:
    waiting: Callable[[], object] | None = None
    busy: bool = False


class Background:
    """The background work of one widget or screen."""

    def __init__(self, node: MessagePump) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._queues: dict[str, _Queue] = {}

    def run(self, name: str, work: Callable[[], object]) -> None:
        """Start the work, or queue it behind the one with the same name; returns at once."""
        with self._lock:
            queue = self._queues.setdefault(name, _Queue())
            queue.waiting = work
            if queue.busy:
                return
            queue.busy = True
        threading.Thread(target=self._run, args=(name, queue), name=f"background-{name}", daemon=True).start()

    def report(self, name: str, value: object) -> None:
        """Post a partial result; called by the work itself."""
        self._post(BackgroundResult(name, value))

    def _run(self, name: str, queue: _Queue) -> None:
        while True:
            with self._lock:
                work, queue.waiting = queue.waiting, None
                if work is None:
                    queue.busy = False
                    return
            try:
                result = BackgroundResult(name, work())
            except Exception as error:
                result = BackgroundResult(name, None, error)
            if queue.waiting is None:
                self._post(result)

    def _post(self, result: BackgroundResult) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has been closed meanwhile
            self._node.post_message(result)


async def in_thread(work: Callable[[], Value]) -> Value:
    """Run the work in a thread and return its result. Cancelling the caller abandons the thread, which runs on."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Value] = loop.create_future()

    def settle(value: Value | None, error: BaseException | None) -> None:
        if future.done():  # the caller was cancelled
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]  # set where there is no error

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except Exception as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the event loop has been closed meanwhile
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="background", daemon=True).start()
    return await future


def error_line(error: Exception) -> str:
    """The error and its hint in one line."""
    hint = getattr(error, "hint", "")
    text = getattr(error, "message", "") or str(error) or type(error).__name__
    return f"{text}; {hint}" if hint else text
