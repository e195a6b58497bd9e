"""What a step may cost: rows are bought only where they pay, wrong sources sleep, the window runs while it earns."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from lacli.engine.controller import Controller, Limits, Plan
from lacli.engine.cost import CostCurve
from tests.engine.replies import reply, successor
from tests.exact.sources import LiarSource
from tests.fakes import TableRunner

STEEP = CostCurve({1: 10.0, 2: 20.0, 4: 40.0}, learning=False)
"""A row costs as much as a step."""
CPU = CostCurve({1: 32.0, 2: 42.0, 4: 50.0, 8: 77.0, 16: 131.0, 32: 245.0}, learning=False)
"""The default model as measured (research/kernels.md §4.5)."""


def controller(curve: CostCurve, **limits: int) -> Controller:
    return Controller(curve, Limits(**limits))  # type: ignore[arg-type]


class TestBuying:
    def test_nothing_where_a_row_costs_a_step(self) -> None:
        assert controller(STEEP).buy([0.99] * 10, already=1) == 0

    def test_everything_where_rows_are_free(self) -> None:
        assert controller(CostCurve.flat()).buy([0.9, 0.5, 0.1, 0.001], already=1) == 4

    def test_nothing_unlikely(self) -> None:
        assert controller(CPU).buy([0.25, 0.2, 0.1], already=1) == 0
        assert controller(CPU).buy([0.9, 0.8, 0.7, 0.02, 0.01], already=1) == 3

    def test_up_to_a_cliff_and_no_further(self) -> None:
        cliff = CostCurve({1: 10.0, 8: 10.5, 9: 30.0, 64: 31.0}, learning=False)
        assert controller(cliff).buy([0.5] * 20, already=1) == 7
        # Unless enough certain rows lie behind it.
        assert controller(cliff).buy([0.99] * 60, already=1) == 60

    def test_rows_that_are_there_anyway_are_no_price(self) -> None:
        steps = CostCurve({1: 10.0, 10: 100.0, 11: 100.5, 20: 105.0}, learning=False)
        assert controller(steps).buy([0.2], already=1) == 0
        assert controller(steps).buy([0.2], already=10) == 1

    def test_never_a_worse_rate_than_the_plain_step(self) -> None:
        """Tokens per millisecond as expected, against every other count."""
        generator = random.Random(1)
        for _ in range(300):
            points = {1: 10.0}
            for rows in (2, 4, 8, 16, 32):
                points[rows] = points[rows // 2] * generator.uniform(1.0, 1.9)
            curve = CostCurve(points, learning=False)
            chances = sorted((generator.random() ** 2 for _ in range(generator.randrange(31))), reverse=True)
            already = generator.choice([1, 5])
            count = controller(curve).buy(chances, already)

            def rate(bought: int, curve: CostCurve = curve, chances=chances, already: int = already) -> float:  # type: ignore[no-untyped-def]
                return (1 + sum(chances[:bought])) / curve(already + bought)

            assert rate(count) >= rate(0)
            assert count == 0 or rate(count) >= max(rate(other) for other in range(len(chances) + 1)) - 1e-12


class TestPlanning:
    def test_plain_when_asked_or_without_room(self) -> None:
        nothing = Plan(0, 0, window=False)
        assert Controller(CostCurve.flat(), Limits(lookahead=False)).plan(50, 10) == nothing
        assert controller(CostCurve.flat()).plan(0, 10) == nothing
        assert controller(CostCurve.flat()).plan(-3, 10) == nothing
        assert controller(CostCurve.flat(), max_rows=1).plan(50, 10) == nothing

    def test_depth_is_what_budget_and_context_leave(self) -> None:
        assert controller(CostCurve.flat()).plan(5, 0).depth == 5
        assert controller(CostCurve.flat(), max_rows=8).plan(500, 0).depth == 7

    def test_the_window_is_bought_where_its_rows_fill_up_a_cheap_shape(self) -> None:
        """A GPU: 15 further rows for 15 % more time; on a CPU they are four times as much."""
        points = {1: 10.0, 2: 10.0, 4: 10.2, 8: 10.6, 16: 11.5, 32: 13.0, 64: 16.0}
        gpu = CostCurve(points, learning=False, buckets=tuple(points))
        assert controller(gpu).plan(50, 14).window
        assert not controller(CPU).plan(50, 14).window
        # Drafts as likely as these leave its rows no room.
        assert controller(gpu).buy([0.9] * 63, already=1) == 63

    def test_the_window_takes_its_rows_from_the_drafts(self) -> None:
        assert controller(CostCurve.flat(), max_rows=32).plan(50, 14) == Plan(17, 31, window=True)
        assert controller(CostCurve.flat(), max_rows=32, guesses=0).plan(50, 14) == Plan(0, 31, window=True)


class TestBackOff:
    def asked(self, made: Controller, outcomes: list[bool]) -> list[int]:
        """Steps in which a source is asked that is then right or wrong in turn; the last outcome repeats."""
        steps: list[int] = []
        for step in range(600):
            if made.awake("prompt"):
                right = outcomes[min(len(steps), len(outcomes) - 1)]
                made.learn({"prompt": right}, None)
                steps.append(step)
        return steps

    def test_a_source_that_is_always_wrong_sleeps_longer_each_time_and_wakes(self) -> None:
        steps = self.asked(controller(CPU), [False])
        gaps = [later - earlier for earlier, later in pairwise(steps)]
        assert gaps[:12] == [1, 1, 1, 1, 1, 2, 3, 5, 9, 17, 33, 65]
        assert set(gaps[12:]) == {65}  # never for good

    def test_one_right_guess_wakes_it_for_good(self) -> None:
        steps = self.asked(controller(CPU), [False] * 10 + [True])
        assert steps[-100:] == list(range(500, 600))

    def test_a_source_that_is_right_now_and_then_never_sleeps(self) -> None:
        assert self.asked(controller(CPU), [False, False, False, False, True] * 130) == list(range(600))

    def test_sources_sleep_one_by_one(self) -> None:
        made = controller(CPU)
        for _ in range(8):
            made.awake("project")
            made.learn({"project": False, "prompt": True}, None)
        assert made.resting == ("project",)
        assert not made.awake("project")
        assert made.awake("prompt")

    def test_every_wrong_step_in_a_row_halves_the_trust_until_one_is_right(self) -> None:
        made = controller(CPU)
        assert made.trust("prompt") == 1.0
        for step in range(1, 4):
            made.awake("prompt")
            made.learn({"prompt": False}, None)
            assert made.trust("prompt") == 0.5**step
        assert made.trust("session") == 1.0
        for _ in range(100):
            made.learn({"prompt": False}, None)
        assert made.trust("prompt") > 0
        made.learn({"prompt": True}, None)
        assert made.trust("prompt") == 1.0

    def test_a_source_that_is_not_asked_loses_nothing(self) -> None:
        made = controller(CPU)
        for _ in range(50):
            made.learn({"prompt": False}, None)
        assert made.awake("session")

    def test_a_poisoned_pool_costs_a_reply_few_rows(self) -> None:
        """Always matching, always wrong, always sure of itself."""
        runner = TableRunner(successor)
        truth = [(10 + step) % 50 for step in range(600)]
        source = LiarSource(1, truth, 64)
        source.name = "project"
        made = controller(CPU, window=0)
        # The first token of every guess is wrong: the three that begin right are cut off.
        source.propose = lambda context, room, ask=source.propose: ask(context, room)[:1]  # type: ignore[method-assign]
        done = reply(runner, (9,), 600, [source], controller=made)
        assert done.ids == truth
        guessed = sum(step.rows - 1 for step in done.steps if step.rows)
        assert sum(step.rows > 1 for step in done.steps) < 25
        assert guessed < 600


class TestWindow:
    def test_never_runs_where_its_rows_cost_too_much(self) -> None:
        made = controller(STEEP)
        assert not any(made.plan(50, 14).window for _ in range(200))

    def test_stops_when_it_brings_nothing_and_is_tried_again(self) -> None:
        cheap = CostCurve({1: 10.0, 15: 11.5, 64: 20.0}, learning=False)
        made = controller(cheap)
        ran = []
        for _ in range(3000):
            plan = made.plan(50, 14)
            ran.append(plan.window)
            made.learn({}, 0 if plan.window else None)
        assert all(ran[:10])
        assert sum(ran) < 300
        assert any(ran[500:])

    def test_goes_on_while_it_pays(self) -> None:
        cheap = CostCurve({1: 10.0, 15: 11.5, 64: 20.0}, learning=False)
        made = controller(cheap)
        for step in range(500):
            assert made.plan(50, 14).window
            made.learn({}, step % 2)

    @pytest.mark.parametrize("window", [0, 5])
    def test_is_off_where_it_has_no_columns_or_no_rows(self, window: int) -> None:
        made = controller(CostCurve.flat(), window=window)
        assert not made.plan(50, 0).window
        assert made.plan(50, 14).window == (window > 0)

    def test_is_off_where_guesses_would_make_more_of_its_rows(self) -> None:
        made = controller(CostCurve.flat(), max_rows=32)
        ran = []
        for _ in range(300):
            plan = made.plan(50, 14)
            ran.append(plan.window)
            made.buy([0.9] * plan.rows, 15 if plan.window else 1)
            made.learn({}, 1 if plan.window else None)  # a token a step, where 14 rows of guesses bring 12
        assert ran[0]
        assert not any(ran[20:40])
        assert sum(ran) < 30


class TestHonesty:
    def test_rows_that_bring_less_than_promised_are_believed_less_and_others_are_not_touched(self) -> None:
        made = controller(CPU)
        assert made.trust("project") == made.reliability("successor") == 1.0
        for _ in range(20):
            made.record_acceptance({"successor": 0.8, "project": 0.5}, {"project": 1})
        assert made.reliability("successor") < 0.2
        assert made.trust("project") == 1.0  # more than expected counts as expected

    def test_who_is_not_bought_for_a_while_is_tried_again(self) -> None:
        made = controller(CPU)
        for _ in range(20):
            made.record_acceptance({"successor": 0.8}, {})
        for _ in range(300):
            made.record_acceptance({}, {})
        assert made.reliability("successor") > 0.9


class TestBesideOtherReplies:
    """A row of a guess makes all others wait."""

    CURVE = CostCurve({1: 10.0, 8: 12.0, 64: 68.0}, learning=False)

    def test_a_guess_must_beat_the_rate_that_all_have_without_it(self) -> None:
        alone, beside = controller(self.CURVE), controller(self.CURVE)
        beside.set_others(7, 7.0)
        chances = [0.9, 0.8, 0.6, 0.4]
        assert alone.buy(chances, already=1) == 4
        assert beside.buy(chances, already=1) == 2
        beside.set_others(31, 31.0)
        assert beside.buy(chances, already=1) == 0

    def test_where_rows_are_free_others_change_nothing(self) -> None:
        made = controller(CostCurve.flat())
        made.set_others(20, 20.0)
        assert made.buy([0.9, 0.5, 0.1], already=1) == 3
        assert made.plan(20, 0) == Plan(Limits().max_rows - 21, 20, window=False)

    def test_sources_are_not_asked_where_only_near_certainties_pay(self) -> None:
        made = controller(self.CURVE, window=0)
        made.set_others(3, 3.0)
        assert made.plan(20, 0).rows > 0
        made.set_others(31, 31.0)
        assert made.plan(20, 0) == Plan(0, 0, window=False)
        made.set_others(0, 0.0)
        assert made.plan(20, 0).rows == Limits().max_rows - 1

    def test_the_window_runs_where_its_rows_pay_beside_all_others(self) -> None:
        flat_to_32 = CostCurve({1: 10.0, 32: 10.1, 64: 20.0}, learning=False)
        made = controller(flat_to_32)
        assert made.plan(20, 14).window
        made.set_others(31, 31.0)
        assert not made.plan(20, 14).window
