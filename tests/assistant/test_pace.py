"""How fast a prompt is read: learned from replies, not shaken by one, kept for the next process."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli import paths
from lacli.assistant import cost_cache
from lacli.assistant.cost_cache import known_pace
from lacli.assistant.pace import Pace
from lacli.assistant.reading import Reading
from lacli.engine.cost import CostCurve

NAMES = ("m", "int4-cpu-avx2-0", "cpu")


def test_the_first_estimate_is_that_of_the_largest_step_measured(sandbox: Path) -> None:
    assert known_pace(*NAMES).ms_per_token == 0
    cost_cache._write(f"{cost_cache._name(*NAMES)}.json", CostCurve({1: 40.0, 64: 320.0}))
    assert known_pace(*NAMES).ms_per_token == 5.0


def test_what_replies_took_is_there_in_the_next_process(sandbox: Path) -> None:
    known_pace(*NAMES).learn(100, 800.0)
    assert known_pace(*NAMES).ms_per_token == 8.0


def test_a_moment_changes_nothing_and_a_slower_machine_something() -> None:
    pace = Pace(5.0)
    pace.learn(100, 520.0)
    pace.learn(100, 480.0)
    assert pace.ms_per_token == 5.0
    pace.learn(100, 100_000.0)
    assert pace.ms_per_token == 5.0
    for _ in range(10):
        pace.learn(100, 1_000.0)
    assert pace.ms_per_token == pytest.approx(10.0, rel=0.25)


def test_a_machine_that_is_quiet_again_is_known_to_be_sooner() -> None:
    pace = Pace(50.0)
    for _ in range(5):
        pace.learn(100, 500.0)
    assert pace.ms_per_token < 10


def test_a_few_tokens_tell_nothing() -> None:
    pace = Pace(5.0)
    pace.learn(20, 2_000.0)
    assert pace.mean_ms == 5.0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"ms": 1}', '{"ms": -1, "mean_ms": 1}', '{"ms": "x", "mean_ms": 1}'])
def test_a_damaged_file_is_none(sandbox: Path, text: str) -> None:
    known_pace(*NAMES).learn(100, 800.0)
    (file,) = paths.cache_dir().rglob("*.pace.json")
    file.write_text(text)
    assert known_pace(*NAMES).ms_per_token == 0


def test_there_is_no_bound_where_none_is_wanted_or_nothing_is_known() -> None:
    assert Reading(Pace(5.0)).budget(0) is None
    assert Reading(Pace()).budget(1_500) is None
    budget = Reading(Pace(5.0), held=(1, 2, 3)).budget(1_500)
    assert budget is not None
    assert budget.tokens == 300
    assert [budget.free(ids) for ids in ((1, 2, 3, 4), (1, 2, 3), (1, 5), (5,))] == [3, 2, 1, 0]
