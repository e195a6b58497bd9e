"""Ctrl-C while the program is still being imported: it ends the process with 130 and without a word.

Imports nothing but what Python and a console script have imported by then.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

_INTERRUPTED = 130


def begin() -> None:
    """From now on; not where the signal is ignored, as for a job in the background of a script."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def end() -> None:
    """From now on Ctrl-C is KeyboardInterrupt again, for a caller that reports it."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)
