"""T(M): what a forward of M rows costs, measured and kept up to date. Numbers only: the assistant keeps the files.

Only ratios matter to the controller, so the unit (milliseconds) cancels.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

from lacli.models.base import BucketedRunner, Rows, Runner

MEASURED_ROWS = (1, 2, 4, 8, 16, 32, 64)
_ROUNDS = 8  # of a quick model: its forwards are shorter than what other processes take at a time
_DISTURBED = 0.15  # share of a forward without the processor from which its time is not the step's own
_SPEED_LEARNING = 0.1  # at last; the first steps of a process count for more, its curve may be of a quieter hour
_SHAPE_LEARNING = 0.02  # a step is noisy, a reply has a hundred


class CostCurve:
    """Piecewise linear through measured points, extended by its last slope."""

    def __init__(self, points: Mapping[int, float], *, learning: bool = True, buckets: Sequence[int] = ()) -> None:
        """points: rows -> milliseconds, at least two. A curve that is not `learning` stays as given.

        buckets: the row counts that forwards are filled up to, ascending; a step costs what its bucket does.
        """
        self.buckets = tuple(buckets)
        self._rows = sorted(points)
        self._ms = [float(points[rows]) for rows in self._rows]
        self._learning = learning
        self._speed = 1.0
        self._learned = 0
        self._straighten()

    def _straighten(self) -> None:
        """More rows are never cheaper, whatever the noise says."""
        for index in range(1, len(self._ms)):
            self._ms[index] = max(self._ms[index], self._ms[index - 1])

    @staticmethod
    def flat() -> CostCurve:
        """Rows are free: for measuring what drafts could bring."""
        return CostCurve({1: 1.0, 2: 1.0}, learning=False)

    @property
    def points(self) -> dict[int, float]:
        """The curve as rows -> milliseconds, to be stored."""
        return dict(zip(self._rows, self._ms, strict=True))

    def plain_ms(self, rows: int, ms: float) -> float | None:
        """What one row would have taken where so many took `ms`; None for a curve that does not learn.

        By the ratio alone: how fast the machine is changes from step to step, and one row would have met the same.
        """
        return ms * self(1) / self(rows) if self._learning else None

    def _filled(self, rows: float) -> float:
        """The rows that are really run."""
        return next((bucket for bucket in self.buckets if bucket >= rows), rows)

    def __call__(self, rows: float) -> float:
        """Milliseconds of a forward of so many rows."""
        rows = self._filled(rows)
        right = min(max(bisect_right(self._rows, rows), 1), len(self._rows) - 1)
        low, high = self._rows[right - 1], self._rows[right]
        slope = (self._ms[right] - self._ms[right - 1]) / (high - low)
        return self._ms[right - 1] + slope * (rows - low)

    def least_slope(self, low: int, high: int) -> float:
        """Milliseconds of a further row where it is cheapest, between steps of `low` and `high` rows."""
        if high <= low:
            return 0.0
        if self.buckets and any(self._filled(rows) == self._filled(rows + 1) for rows in range(low, high)):
            return 0.0  # a row that fills up a bucket
        between = [(rows, self(rows)) for rows in (low, *(rows for rows in self._rows if low < rows < high), high)]
        return min((after - before) / (right - left) for (left, before), (right, after) in pairwise(between))

    def learn(self, rows: int, ms: float) -> None:
        """Correct the curve by a real forward.

        What slows all steps alike (another program, a longer context) goes into one factor that leaves the ratios
        alone; only what a size of step costs beyond that bends the curve, slowly. Outliers count as a doubling.
        """
        if not self._learning:
            return
        rows = int(self._filled(rows))
        expected = self._speed * self(rows)
        ratio = min(max(ms / expected, 0.5), 2.0) if expected > 0 else 1.0
        self._learned += 1
        self._speed *= 1 + max(_SPEED_LEARNING, 1 / (1 + self._learned)) * (ratio - 1)
        if rows == 1:
            return
        right = min(max(bisect_right(self._rows, rows), 1), len(self._rows) - 1)
        low, high = self._rows[right - 1], self._rows[right]
        share = min(max((rows - low) / (high - low), 0.0), 1.0)
        if right > 1:
            self._ms[right - 1] *= 1 + _SHAPE_LEARNING * (1 - share) * (ratio - 1)
        self._ms[right] *= 1 + _SHAPE_LEARNING * share * (ratio - 1)
        self._straighten()


def measure(
    runner: Runner, rows: Sequence[int] = MEASURED_ROWS, budget_s: float = 1.0, past: int = 128
) -> tuple[CostCurve, bool]:
    """Time forwards of each size behind a short past; leaves the cache empty.

    A runner of few shapes has each of them made ready first, which takes longer than a forward and does not count.
    Goes through the sizes again and again until the budget is used up; a slow model is measured at the small sizes
    only, and the curve goes on with their slope. The least time counts: what other processes take is not the step's.
    Returns the curve, and whether every point can be relied on: a curve measured on a busy machine serves for now and
    is not worth keeping.
    """
    runner.truncate(0)
    runner.prefill([index % runner.vocab_size for index in range(min(past, runner.context_size // 2))])
    sizes = [count for count in rows if count <= runner.context_size // 4 or count <= 2]
    buckets = runner.row_buckets if isinstance(runner, BucketedRunner) else ()
    for count in buckets:
        _timed(runner, count)
    taken: dict[int, list[tuple[float, float]]] = {}
    _timed(runner, 2)  # the first forward warms up
    deadline = time.perf_counter() + budget_s
    for attempt in range(_ROUNDS):
        expected = 0.0
        for count in sizes:
            if attempt:
                if count not in taken:
                    break
                expected = min(taken[count])[0]
            if len(taken) >= 2 and time.perf_counter() + expected / 1000 > deadline:
                break
            taken.setdefault(count, []).append(_timed(runner, count))
            expected = 2 * taken[count][-1][0]  # twice the rows never cost more
    runner.truncate(0)
    curve = CostCurve({count: min(times)[0] for count, times in taken.items()}, buckets=buckets)
    return curve, all(map(_steady, taken.values()))


def _steady(times: Sequence[tuple[float, float]]) -> bool:
    """Whether the least time is the step's own: our threads had the processor, and it was not met by luck alone."""
    (spent, waited), *others = sorted(times)
    return waited < _DISTURBED * spent and (not others or others[0][0] < (1 + _DISTURBED) * spent)


def _timed(runner: Runner, count: int) -> tuple[float, float]:
    """Milliseconds of one forward of a chain, and how many of them none of our threads ran."""
    chain = Rows(
        tuple(index % runner.vocab_size for index in range(count)),
        tuple(range(-1, count - 1)),
        tuple(range(count)),
    )
    busy, started = time.process_time(), time.perf_counter()
    runner.forward(chain)
    spent = time.perf_counter() - started
    return 1000 * spent, 1000 * (spent - (time.process_time() - busy))
