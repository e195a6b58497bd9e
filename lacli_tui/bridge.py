"""Between the UI's thread and the one that makes calls: what comes of them waits in a queue until the UI takes it.

`wake` is called, mostly from the other thread, when the queue has something after it was empty; `take` empties it.
Knows no widget.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from lacli.assistant.base import Replier
from lacli.events import Event, Request
from lacli.shared.background import Call, CallThread, Ended, What

_CANCEL_S = 1.0
Answer = tuple[Call, Event | Ended]


class Bridge:
    """Makes calls of a `Replier`, which is used by this class alone from now on."""

    def __init__(self, replier: Replier, wake: Callable[[], None]) -> None:
        self.replier = replier
        self._wake = wake
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._awake = threading.Event()
        self._thread = CallThread(replier, self._put)

    def call(self, what: What, request: Request = Request()) -> Call:  # noqa: B008 - frozen
        """Start a call; `take` returns what comes of it, `Ended` last."""
        return self._thread.call(what, request)

    def cancel(self, call: Call) -> None:
        """End the call as soon as possible, at once while it waits."""
        self._thread.cancel(call)

    def take(self) -> list[Answer]:
        """Everything that came since the last time."""
        self._awake.clear()
        answers = []
        while True:
            try:
                answers.append(self._answers.get_nowait())
            except queue.Empty:
                return answers

    def close(self) -> None:
        """Cancel every call and close the replier; a loading that has nothing to report is cut off."""
        self._thread.stop()
        self._thread.join(_CANCEL_S)
        self.replier.close()
        self._thread.join(_CANCEL_S)

    def _put(self, call: Call, answer: Event | Ended) -> None:
        self._answers.put((call, answer))
        if not self._awake.is_set():
            self._awake.set()
            self._wake()
