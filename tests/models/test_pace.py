"""Rows of a prefill forward follow the time it takes."""

from __future__ import annotations

from lacli.models.runners.pace import MOST_ROWS, Pace


def test_a_small_model_begins_with_many_rows_and_a_large_one_with_few() -> None:
    assert Pace(90_000_000).rows == MOST_ROWS
    assert Pace(1_500_000_000).rows == 8


def test_a_slow_forward_makes_the_next_one_smaller_and_a_quick_one_larger_again() -> None:
    pace = Pace(100_000_000)
    pace.record(60, 1.2)
    assert pace.rows == 10
    pace.record(10, 0.02)
    assert pace.rows == MOST_ROWS


def test_a_few_rows_at_the_end_of_a_prompt_say_nothing() -> None:
    pace = Pace(100_000_000)
    before = pace.rows
    pace.record(1, 0.5)
    assert pace.rows == before
