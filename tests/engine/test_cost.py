"""T(M): interpolated, monotone, corrected by real steps without being bent by a busy machine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from lacli.engine.cost import MEASURED_ROWS, CostCurve, measure
from lacli.models.base import Rows, Scores
from tests.fakes import TableRunner

POINTS = {1: 32.0, 2: 42.0, 4: 50.0, 8: 77.0, 16: 131.0, 32: 245.0}


def ratios(curve: CostCurve) -> list[float]:
    return [curve(rows) / curve(1) for rows in POINTS]


def run(curve: CostCurve, steps: int, true_ms: Callable[[int], float], seed: int = 0) -> None:
    """Steps of mixed sizes, each with a little noise."""
    generator = random.Random(seed)
    for _ in range(steps):
        rows = generator.choice([1, 1, 2, 3, 5, 8, 16])
        curve.learn(rows, true_ms(rows) * generator.uniform(0.97, 1.06))


STEPPED = {1: 10.0, 2: 10.0, 4: 10.5, 8: 11.0, 16: 13.0}


class TestCurve:
    def test_goes_through_its_points_and_straight_between_and_beyond(self) -> None:
        curve = CostCurve(POINTS)
        assert [curve(rows) for rows in POINTS] == list(POINTS.values())
        assert curve(3) == 46.0
        assert curve(12) == 104.0
        assert curve(48) == pytest.approx(245 + 16 * (245 - 131) / 16)
        assert curve.points == POINTS

    def test_more_rows_are_never_cheaper_whatever_was_measured(self) -> None:
        curve = CostCurve({1: 30.0, 2: 28.0, 4: 60.0, 8: 50.0})
        costs = [curve(rows) for rows in range(1, 20)]
        assert costs == sorted(costs)

    def test_flat_makes_rows_free_for_ever(self) -> None:
        curve = CostCurve.flat()
        run(curve, 50, lambda rows: 10.0 * rows)
        assert {curve(rows) for rows in (1, 2, 50)} == {1.0}


class TestBuckets:
    """A runner that fills steps up to a few shapes: CUDA graphs."""

    def test_a_step_costs_what_its_bucket_does(self) -> None:
        curve = CostCurve(STEPPED, buckets=(1, 2, 4, 8, 16))
        assert [curve(rows) for rows in (3, 5, 7, 8, 9, 16)] == [10.5, 11.0, 11.0, 11.0, 13.0, 13.0]
        assert {CostCurve(STEPPED, buckets=(16,))(rows) for rows in (1, 5, 16)} == {13.0}

    def test_a_row_that_fills_up_a_bucket_is_free(self) -> None:
        assert CostCurve(STEPPED, buckets=(1, 2, 4, 8, 16)).least_slope(1, 16) == 0.0
        assert CostCurve(STEPPED, buckets=(1, 2, 4)).least_slope(1, 2) == 0.0  # as measured
        assert CostCurve({1: 10.0, 2: 12.0}, buckets=(1, 2)).least_slope(1, 2) == 2.0

    def test_what_a_step_teaches_is_about_its_bucket(self) -> None:
        curve = CostCurve(STEPPED, buckets=(1, 2, 4, 8, 16))
        for _ in range(400):
            curve.learn(9, 26.0)
            curve.learn(1, 10.0)
        assert curve(16) == pytest.approx(26.0, rel=0.1)
        assert curve(8) == pytest.approx(11.0, rel=0.1)

    def test_every_shape_is_made_ready_before_any_is_timed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The first forward of a shape captures a graph; a budget of nothing would know no other."""
        runner = Bucketed(lambda context: 1)
        monkeypatch.setattr(
            "lacli.engine.cost._timed", lambda runner, count: (runner.forward(chain(count)) and runner.ms, 0.0)
        )
        curve, _ = measure(runner, budget_s=0.0)
        assert curve.buckets == Bucketed.row_buckets
        assert {curve(rows) for rows in (1, 2)} == {1.0}


class Bucketed(TableRunner):
    """The first forward of each shape takes a thousand times as long."""

    row_buckets = (1, 2, 4, 8, 16, 32, 64)
    chains_only = False

    def forward(self, rows: Rows) -> Scores:
        seen = self.__dict__.setdefault("seen", set())
        self.ms = 1.0 if len(rows.token_ids) in seen else 1000.0
        seen.add(len(rows.token_ids))
        return super().forward(rows)


def chain(count: int) -> Rows:
    return Rows((0,) * count, tuple(range(-1, count - 1)), (0,))


class TestLearning:
    def test_a_machine_that_slows_down_as_a_whole_changes_no_ratio(self) -> None:
        curve, true = CostCurve(POINTS), CostCurve(POINTS, learning=False)
        before = ratios(curve)
        for factor in (1.0, 2.0, 5.0, 1.0, 0.5):
            run(curve, 150, lambda rows, factor=factor: factor * true(rows))  # type: ignore[misc]
            assert ratios(curve) == pytest.approx(before, rel=0.15), factor

    def test_steps_of_a_size_that_cost_more_than_measured_bend_the_curve_there(self) -> None:
        curve, true = CostCurve(POINTS), CostCurve(POINTS, learning=False)
        run(curve, 2000, lambda rows: true(rows) * (1.5 if rows >= 8 else 1.0))
        assert curve(8) / curve(1) == pytest.approx(1.5 * true(8) / true(1), rel=0.2)
        assert curve(2) / curve(1) == pytest.approx(true(2) / true(1), rel=0.2)

    def test_a_size_between_two_measured_ones_bends_both(self) -> None:
        curve = CostCurve(POINTS)
        for _ in range(600):
            curve.learn(1, 32.0)
            curve.learn(7, 1.5 * 70.25)
        assert curve(7) / curve(1) > 1.3 * 70.25 / 32
        assert curve(8) > 1.2 * 77

    def test_one_stall_counts_no_more_than_a_doubling(self) -> None:
        stalled, doubled = CostCurve(POINTS), CostCurve(POINTS)
        stalled.learn(8, 77.0 * 1000)
        doubled.learn(8, 77.0 * 2)
        assert stalled.points == doubled.points
        assert stalled(8) <= 1.03 * 77.0

    def test_whatever_is_learned_more_rows_are_never_cheaper(self) -> None:
        curve, generator = CostCurve(POINTS), random.Random(2)
        for _ in range(2000):
            curve.learn(generator.randrange(1, 60), generator.uniform(0.0, 400.0))
        costs = [curve(rows) for rows in range(1, 70)]
        assert costs == sorted(costs)
        assert costs[0] > 0

    def test_what_one_row_would_have_taken_is_by_the_ratio_however_fast_the_machine_is_now(self) -> None:
        curve = CostCurve({1: 10.0, 4: 16.0})
        run(curve, 50, lambda rows: 3 * (8 + 2 * rows))
        assert curve.plain_ms(4, 32.0) == pytest.approx(20.0, rel=0.1)
        assert CostCurve.flat().plain_ms(4, 32.0) is None


class TestMeasuring:
    def test_times_each_size_and_leaves_the_cache_empty(self) -> None:
        runner = TableRunner({}, context_size=512)
        curve, _ = measure(runner, budget_s=60.0)
        assert tuple(curve.points) == MEASURED_ROWS
        assert all(cost > 0 for cost in curve.points.values())
        assert runner.length == 0
        assert {len(rows.token_ids) for rows in runner.forwards} == set(MEASURED_ROWS)

    def test_a_slow_model_is_measured_at_the_small_sizes(self) -> None:
        runner = TableRunner({}, context_size=512)
        curve, _ = measure(runner, budget_s=0.0)
        assert tuple(curve.points) == MEASURED_ROWS[:2]
        assert curve(32) >= curve(2)

    @pytest.mark.parametrize("context", [4, 6, 8, 40])
    def test_also_in_a_tiny_context(self, context: int) -> None:
        assert measure(TableRunner({}, vocab_size=3, context_size=context), budget_s=60.0)[0](2) > 0


class Clock:
    """In place of `time`: forwards take what is said of them, and nothing else takes any time."""

    def __init__(self, spent: Callable[[int, int], float], busy: float = 1.0) -> None:
        """spent(rows, number): seconds of the forward with this number among those of so many rows; busy: the share of
        them that the processor worked for us."""
        self.now = self.worked = 0.0
        self._spent, self._busy = spent, busy
        self._numbers: Counter[int] = Counter()

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.worked

    def forward(self, rows: int) -> None:
        spent = self._spent(rows, self._numbers[rows])
        self._numbers[rows] += 1
        self.now += spent
        self.worked += self._busy * spent


class TestTimeOfMeasuring:
    def measured(self, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> tuple[CostCurve, bool]:
        class Timed(TableRunner):
            def forward(self, rows: Rows) -> Scores:
                clock.forward(len(rows.token_ids))
                return super().forward(rows)

        monkeypatch.setattr("lacli.engine.cost.time", clock)
        return measure(Timed({}))

    def test_a_quick_model_is_measured_at_every_size_many_times(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = Clock(lambda rows, number: (5.2 + 0.35 * rows) / 1000 * (1.5 if number < 3 else 1.0))
        curve, reliable = self.measured(clock, monkeypatch)
        assert curve.points == pytest.approx({rows: 5.2 + 0.35 * rows for rows in MEASURED_ROWS})
        assert reliable
        assert clock.now < 1.0

    @pytest.mark.parametrize("model_ms", [20, 60, 150, 400])
    def test_no_size_is_begun_that_would_not_end_in_time(self, model_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = Clock(lambda rows, number: model_ms * (0.9 + 0.1 * rows) / 1000)
        curve, reliable = self.measured(clock, monkeypatch)
        assert clock.now <= 1.0 + 4 * model_ms / 1000  # what warms up, and the two sizes a curve needs
        assert curve(1) == pytest.approx(model_ms)
        assert curve(64) == pytest.approx(7.3 * model_ms)
        assert reliable

    def test_a_time_that_was_met_once_is_not_relied_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        lucky = Clock(lambda rows, number: rows / 1000 * (0.7 if (rows, number) == (8, 3) else 1.0))
        assert not self.measured(lucky, monkeypatch)[1]

    def test_nor_are_times_the_processor_worked_for_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for busy, reliable in ((1.0, True), (0.9, True), (0.8, False)):
            clock = Clock(lambda rows, number: rows / 1000, busy)
            assert self.measured(clock, monkeypatch)[1] == reliable
