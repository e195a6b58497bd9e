"""How long the command may take: --timeout, counted from the program's start, so that loading is part of it.

Set where the options are read; asked by what waits: `stdin`, and `interrupt` for loading and for replies. A
conversation restarts it with each question. Pure but for the clock.
"""

from __future__ import annotations

import time

from lacli.errors import TimedOut


class _State:
    """What the options set once per process."""

    started = time.monotonic()
    seconds: float | None = None


_state = _State()


def restart() -> None:
    """The time counts from now: the program begins, or someone has asked the next question."""
    _state.started = time.monotonic()


def allow(seconds: float | None) -> None:
    """Set how many seconds there are; None is no end."""
    _state.seconds = seconds


def left() -> float | None:
    """Seconds until then, 0 at the least; None where there is no end."""
    return None if _state.seconds is None else max(0.0, _state.started + _state.seconds - time.monotonic())


def passed() -> bool:
    """Whether the time is over."""
    return left() == 0


def failure(what: str) -> TimedOut:
    """The error to raise then; `what` says what was not complete."""
    return TimedOut(f"the {_state.seconds or 0:g} s of --timeout were over {what}", "give more time, or ask for less")
