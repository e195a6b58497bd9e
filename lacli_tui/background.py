"""Work that may wait for a disk, a lock or another program, in a thread of its own; what comes of it is a message.

`Behind(node).do(what, work)` posts `Came(what, …)` to the node. Of calls with the same name only the newest is still
wanted: while one runs, the next one waits and takes the place of any that waits already, and what an older one found is
told only where no newer one was asked for. `await done(work)` is for whoever can wait: an async worker. Threads end
with the program, which never waits for them, as it would for those of textual's own workers.
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


class Came(Message, bubble=False):
    """What came of a piece of work."""

    def __init__(self, what: str, value: object, error: Exception | None = None) -> None:
        super().__init__()
        self.what = what
        self.value = value
        self.error = error
        """A failure, to be told to the user; `value` is None then."""


@dataclass(slots=True)
class _Queue:
    waiting: Callable[[], object] | None = None
    busy: bool = False


class Behind:
    """The work of one widget or screen."""

    def __init__(self, node: MessagePump) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._queues: dict[str, _Queue] = {}

    def do(self, what: str, work: Callable[[], object]) -> None:
        """Have this done; returns at once."""
        with self._lock:
            queue = self._queues.setdefault(what, _Queue())
            queue.waiting = work
            if queue.busy:
                return
            queue.busy = True
        threading.Thread(target=self._run, args=(what, queue), name=f"behind-{what}", daemon=True).start()

    def tell(self, what: str, value: object) -> None:
        """From within the work: something that is known already."""
        with contextlib.suppress(RuntimeError):  # the program has ended meanwhile
            self._node.post_message(Came(what, value))

    def _run(self, what: str, queue: _Queue) -> None:
        while True:
            with self._lock:
                work, queue.waiting = queue.waiting, None
                if work is None:
                    queue.busy = False
                    return
            try:
                came = Came(what, work())
            except Exception as error:
                came = Came(what, None, error)
            if queue.waiting is None:
                with contextlib.suppress(RuntimeError):  # as above
                    self._node.post_message(came)


async def done(work: Callable[[], Value]) -> Value:
    """What comes of this. Whoever waits can be cancelled; the work itself goes on then, and nobody hears of it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Value] = loop.create_future()

    def tell(value: Value | None, error: BaseException | None) -> None:
        if future.done():  # it is not waited for any more
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]  # it is there where there is no error

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except Exception as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the program has ended meanwhile
            loop.call_soon_threadsafe(tell, value, error)

    threading.Thread(target=run, name="behind", daemon=True).start()
    return await future


def said(error: Exception) -> str:
    """A failure in one line."""
    hint = getattr(error, "hint", "")
    text = getattr(error, "message", "") or str(error) or type(error).__name__
    return f"{text}; {hint}" if hint else text
