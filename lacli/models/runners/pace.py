"""How many rows a prefill forward takes: many, to be busy computing, but few enough that a cancel is heard soon.

Only for runners whose rows have the same bits whatever runs beside them (native): the number follows the clock. Pure
except for what `record` is given.
"""

from __future__ import annotations

MOST_ROWS = 64
_FEWEST_ROWS = 8
"""Fewer than this read the weights too often."""
_WANTED_S = 0.2
_FIRST_MULTIPLICATIONS = 6e9
"""What a slow processor is sure to do in that time, as long as nothing has been measured."""


class Pace:
    """The rows of a model's next prefill forward."""

    def __init__(self, weights: int) -> None:
        """`weights`: how many the model multiplies each row with."""
        self.rows = _bounded(_FIRST_MULTIPLICATIONS / max(1, weights))

    def record(self, rows: int, seconds: float) -> None:
        """A forward of so many rows took so long; one of few rows says little."""
        if rows >= _FEWEST_ROWS and seconds > 0:
            self.rows = _bounded(rows * _WANTED_S / seconds)


def _bounded(rows: float) -> int:
    return int(min(MOST_ROWS, max(_FEWEST_ROWS, rows)))
