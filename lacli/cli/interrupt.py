"""Ctrl-C while a reply is written: the first asks the decoder to stop between two steps, the second ends the program.

Called by the commands that stream replies. Everywhere else Ctrl-C is the ordinary KeyboardInterrupt.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

_SECOND_WITHIN_S = 2.0


class Interrupt:
    """A with block in which Ctrl-C sets `asked` instead of raising; the block's object is the `cancel` of a reply."""

    def __init__(self) -> None:
        self.asked = False
        self._at = 0.0
        self._before: Any = None

    def __call__(self) -> bool:
        return self.asked

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():  # signals are the main thread's business
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.asked and now - self._at <= _SECOND_WITHIN_S:
            raise KeyboardInterrupt
        self.asked, self._at = True, now
