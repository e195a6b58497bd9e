"""The counts of replies: derived numbers, sums, and what a pool keeps of them."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from lacli.events import Counts, Loading, ReplyStats, Stage
from lacli.shared import wording
from tests.golden.cases import CASES

FIRST = Counts(
    replies=1,
    predicted_n=21,
    steps=8,
    plain_steps=21,
    draft_n=40,
    draft_n_accepted=13,
    drafted_by_source={"prompt": 30, "window": 10},
    accepted_by_source={"prompt": 13},
    rows=60,
    draft_ms=5.0,
    step_ms=100.0,
    saved_ms=110.0,
)
SECOND = Counts(
    replies=1,
    predicted_n=11,
    steps=10,
    plain_steps=10,
    draft_n=5,
    drafted_by_source={"session": 5},
    rows=15,
    draft_ms=1.0,
    step_ms=120.0,
    saved_ms=-20.0,
)


def test_tokens_per_step_leaves_out_the_first_token_of_every_reply() -> None:
    assert FIRST.tokens_per_step == 20 / 8
    assert (FIRST + SECOND).tokens_per_step == 30 / 18
    assert ReplyStats(predicted_n=5, steps=2).tokens_per_step == 2.0
    assert ReplyStats(predicted_n=0, steps=2).tokens_per_step is None
    assert ReplyStats(predicted_n=1).tokens_per_step is None


def test_what_guessing_saved_may_be_less_than_nothing_in_time_and_is_unknown_without_a_measured_step() -> None:
    assert FIRST.saved_n == 13
    assert SECOND.saved_n == 0
    assert (FIRST + SECOND).saved_ms == 90.0
    unknown = dataclasses.replace(SECOND, saved_ms=None)
    assert (unknown + unknown).saved_ms is None
    assert (unknown + FIRST).saved_ms == 110.0


def test_a_sum_is_the_sum_of_every_number() -> None:
    both = FIRST + SECOND
    for field in dataclasses.fields(Counts):
        left, right, whole = (getattr(each, field.name) for each in (FIRST, SECOND, both))
        if isinstance(left, dict):
            assert whole == {name: left.get(name, 0) + right.get(name, 0) for name in {*left, *right}}
        else:
            assert whole == left + right, field.name
    assert both.rows_bought == 57
    assert both.drafting_share == 6.0 / 220.0
    assert Counts() + FIRST == FIRST


@pytest.mark.parametrize("counts", [FIRST, SECOND, FIRST + SECOND, dataclasses.replace(FIRST, saved_ms=None)])
def test_what_a_pool_keeps_gives_the_same_counts_back(counts: Counts) -> None:
    assert Counts.of_totals(counts.totals()) == counts


def test_totals_may_be_added_key_by_key() -> None:
    one, two = FIRST.totals(), SECOND.totals()
    summed = {key: one.get(key, 0.0) + two.get(key, 0.0) for key in {*one, *two}}
    assert Counts.of_totals(summed) == FIRST + SECOND


def test_totals_of_another_version_are_read_as_far_as_they_are_known() -> None:
    odd = {"tokens": float("nan"), "saved_ms": float("inf"), "unheard.of": 3.0, "steps": 4.0}
    assert Counts.of_totals(odd) == Counts(steps=4, plain_steps=4)


class TestStages:
    """What is told of getting a model ready is one list, which front ends have words for."""

    def test_each_has_words(self) -> None:
        assert set(wording._STAGES) == set(get_args(Stage))

    def test_the_golden_outputs_show_only_those_that_are_sent(self) -> None:
        shown = {event.stage for case in CASES for event in case.opening if isinstance(event, Loading)}
        assert shown
        assert shown <= set(get_args(Stage))
