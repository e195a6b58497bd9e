"""Where a looping reply stops counting."""

from __future__ import annotations

import random

import pytest

from lacli.bench.loops import LoopStop, loop_start
from lacli.engine.step import Finish


def test_a_reply_that_does_not_loop_counts_as_a_whole() -> None:
    assert loop_start(range(500)) == 500
    assert loop_start([]) == 0


def test_three_repeats_of_an_8_gram_are_not_yet_a_loop() -> None:
    gram = list(range(8))
    text = [*gram, 100, *gram, 101, *gram, 102]
    assert loop_start(text) == len(text)
    assert loop_start([*text, *gram, 103]) == len(text) + len(gram)


@pytest.mark.parametrize("period", [1, 2, 3, 8, 11])
def test_a_loop_of_any_period_is_cut_at_its_fourth_round(period: int) -> None:
    lead = list(range(1000, 1020))
    looped = [*lead, *(index % period for index in range(200))]
    assert loop_start(looped) == len(lead) + 8 + 3 * period


def test_where_it_is_cut_does_not_depend_on_the_steps() -> None:
    chooser = random.Random(3)
    text = [*range(50, 70), *([1, 2, 3, 4, 5] * 20)]
    expected = loop_start(text)
    for _ in range(20):
        rule, kept, place = LoopStop(), 0, 0
        while place < len(text):
            size = chooser.randint(1, 9)
            cut = rule.cut(text[place : place + size])
            kept += cut.keep
            place += size
            if cut.finish is not None:
                assert cut.finish is Finish.STOP
                break
        assert kept == expected
