"""Where a reply ends inside a run of accepted guesses: end tokens, budget, context; and the bonus token.

The text counts upwards (`successor`), so a source that counts is right and any other is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lacli.engine.controller import Limits
from lacli.engine.step import Cut, Finish
from lacli.engine.stop import Stops
from tests.engine.replies import PLAIN, reply, successor
from tests.exact.sources import OracleSource
from tests.fakes import ListSource, TableRunner

PROMPT = (7, 8, 9)
TRUTH = list(range(10, 50))


def runner_of(**changes: int) -> TableRunner:
    return TableRunner(successor, **changes)  # type: ignore[arg-type]


def oracle(length: int = 40) -> OracleSource:
    return OracleSource(len(PROMPT), TRUTH[:length])


class TestEndTokens:
    # The run of the first step after prefill is 11 .. 18: its first, middle, last guess and the bonus token.
    @pytest.mark.parametrize("end", [10, 11, 14, 17, 18])
    def test_an_end_token_at_any_place_of_an_accepted_run_ends_the_reply_there(self, end: int) -> None:
        runner = runner_of()
        source = ListSource([range(11, 18)])
        done = reply(runner, PROMPT, 40, [source], eos=(end,))
        assert done.ids == list(range(10, end))
        assert done.finish is Finish.STOP
        # Nothing from the end token on is in the cache or has been shown to a source.
        assert runner.cache == [*PROMPT, *range(10, max(10, end - 1))]
        assert source.observed == list(range(11, end))
        assert all(len(step.sources) == len(step.token_ids) for step in done.steps)

    def test_it_takes_one_step_however_long_the_run(self) -> None:
        assert reply(runner_of(), PROMPT, 40, [oracle()], eos=(30,)).forwards == 1

    def test_each_of_several_end_tokens_ends_the_reply(self) -> None:
        assert reply(runner_of(), PROMPT, 40, [oracle()], eos=(25, 20)).ids == list(range(10, 20))
        assert reply(runner_of(), PROMPT, 40, [oracle()], eos=(12, 20)).ids == [10, 11]

    def test_an_end_token_guessed_on_a_wrong_branch_ends_nothing(self) -> None:
        done = reply(runner_of(), PROMPT, 12, [ListSource([(49, 5), (11, 49, 3)])], eos=(49,))
        assert done.ids == TRUTH[:12]
        assert done.finish is Finish.LENGTH

    def test_a_stop_rule_sees_each_delivered_token_once_and_none_after_the_end(self) -> None:
        class Watching:
            def __init__(self) -> None:
                self.seen: list[int] = []

            def cut(self, token_ids: Sequence[int]) -> Cut:
                for index, token_id in enumerate(token_ids):
                    if token_id == 23:
                        self.seen += token_ids[:index]
                        return Cut(index, Finish.STOP)
                self.seen += token_ids
                return Cut(len(token_ids))

        for sources in ([], [oracle()], [ListSource([(11, 12), (21, 22, 23, 24, 25)])]):
            rule, runner = Watching(), runner_of()
            done = reply(runner, PROMPT, 40, sources, rule=rule, eos=(30,))
            assert done.ids == rule.seen == list(range(10, 23))
            assert done.finish is Finish.STOP
            assert runner.cache == [*PROMPT, *range(10, 22)]


class TestBudget:
    @pytest.mark.parametrize("budget", [1, 2, 3, 4, 5, 6, 7, 8, 31, 32, 33, 40])
    @pytest.mark.parametrize("limits", [Limits(window=0), Limits(window=3, ngram=4), PLAIN])
    def test_is_met_exactly(self, budget: int, limits: Limits) -> None:
        runner = runner_of()
        done = reply(runner, PROMPT, budget, [oracle()], limits=limits)
        assert done.ids == TRUTH[:budget]
        assert done.finish is Finish.LENGTH
        assert runner.length == len(PROMPT) + budget - 1
        assert done.forwards <= budget - 1

    def test_of_nothing_runs_no_model(self) -> None:
        runner = runner_of()
        done = reply(runner, PROMPT, 0, [oracle()])
        assert (done.ids, done.finish) == ([], Finish.LENGTH)
        assert not runner.forwards
        assert not runner.prefilled

    def test_of_one_is_met_by_the_prefill(self) -> None:
        runner = runner_of()
        assert reply(runner, PROMPT, 1, [oracle()]).ids == [10]
        assert not runner.forwards

    def test_no_row_is_bought_that_the_budget_could_not_use(self) -> None:
        runner = runner_of()
        reply(runner, PROMPT, 5, [oracle()])
        # 10 comes from prefill; 11, 12, 13 are guessed and 14 is the bonus token.
        assert [len(rows.token_ids) for rows in runner.forwards] == [4]


class TestContext:
    @pytest.mark.parametrize("room", [0, 1, 2, 3, 4, 7])
    @pytest.mark.parametrize("limits", [Limits(window=0), Limits(window=4, ngram=3), Limits(window=2, ngram=2)])
    def test_a_nearly_full_one_ends_the_reply_where_plain_decoding_ends(self, room: int, limits: Limits) -> None:
        """The runner refuses any row beyond its context."""
        size = len(PROMPT) + room
        plain = reply(runner_of(context_size=size), PROMPT, 40, limits=PLAIN)
        assert plain.ids == TRUTH[: room + 1]
        assert plain.finish is Finish.CONTEXT
        runner = runner_of(context_size=size)
        done = reply(runner, PROMPT, 40, [oracle(), ListSource([(1, 2, 3, 4, 5, 6, 7, 8)])], limits=limits)
        assert (done.ids, done.finish) == (plain.ids, plain.finish)
        assert runner.length == size

    def test_budget_and_context_full_at_once_counts_as_the_budget(self) -> None:
        for limits in (PLAIN, Limits(window=0)):
            done = reply(runner_of(context_size=len(PROMPT) + 4), PROMPT, 5, [oracle()], limits=limits)
            assert (done.ids, done.finish) == (TRUTH[:5], Finish.LENGTH)


class TestBonusToken:
    def test_a_fully_right_guess_yields_one_token_more(self) -> None:
        done = reply(runner_of(), PROMPT, 9, [ListSource([(11, 12, 13)])])
        assert done.steps[1].token_ids == (11, 12, 13, 14)
        assert done.steps[1].sources == ("prompt", "prompt", "prompt", "")

    def test_a_wrong_guess_still_yields_one_token(self) -> None:
        done = reply(runner_of(), PROMPT, 9, [ListSource([(3, 12, 13)])])
        assert [step.token_ids for step in done.steps] == [(token,) for token in TRUTH[:9]]

    def test_one_token_500_times_over_is_accepted_in_full_runs(self) -> None:
        guess = ListSource([(4,) * 7])
        runner = TableRunner({3: 4, 4: 4})
        done = reply(runner, (3,), 501, [guess])
        assert done.ids == [4] * 501
        assert {len(step.token_ids) for step in done.steps[1:-1]} == {8}
        assert done.forwards == 63  # 500 tokens in runs of 7 and a bonus
        assert runner.cache == [3, *[4] * 500]

    def test_only_misses_cost_a_step_a_token_and_nothing_else(self) -> None:
        done = reply(runner_of(), PROMPT, 30, [ListSource([(3, 4), (5, 6, 7)])])
        assert done.ids == TRUTH[:30]
        assert done.forwards == 29


class TestStops:
    def test_an_end_token_is_not_delivered(self) -> None:
        assert Stops((5,), 10).cut((1, 2, 5, 3)) == Cut(2, Finish.STOP)
        assert Stops((5,), 10).cut((5,)) == Cut(0, Finish.STOP)

    def test_a_spent_budget_wins_over_a_stop_rule_beyond_it(self) -> None:
        stops = Stops((), 4)
        assert stops.cut((1, 2, 3)) == Cut(3)
        assert stops.room == 1
        assert stops.cut((4, 5)) == Cut(1, Finish.LENGTH)
        assert stops.room == 0

    def test_an_end_token_just_behind_the_budget_is_never_reached(self) -> None:
        assert Stops({2}, 1).cut((5, 2)) == Stops({2}, 1).cut((5,)) == Cut(1, Finish.LENGTH)
        assert Stops({2}, 2).cut((5, 2)) == Cut(1, Finish.STOP)
