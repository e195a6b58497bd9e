"""How long the command may take: --timeout, counted from the program's start, so that loading is part of it.

Used by everything that waits: `stdin`, and `interrupt` for loading and for replies. A conversation restarts it with
each question.
"""

from __future__ import annotations

import time

from lacli.errors import TimedOut


class Deadline:
    """A time limit that runs from now on; without seconds there is none."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self._started = time.monotonic()

    def restart(self) -> None:
        """Count from now on: the next question has been asked."""
        self._started = time.monotonic()

    def left(self) -> float | None:
        """Seconds until then, 0 at the least; None where there is no limit."""
        return None if self.seconds is None else max(0.0, self._started + self.seconds - time.monotonic())

    def passed(self) -> bool:
        """Whether the time is up."""
        return self.left() == 0

    def failure(self, what: str) -> TimedOut:
        """The error to raise then; `what` says what was not complete."""
        return TimedOut(f"the {self.seconds or 0:g} s of --timeout were over {what}", "give more time, or ask for less")
