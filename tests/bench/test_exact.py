"""`--exact` finds a changed text, and names where."""

from __future__ import annotations

from typing import Any

from lacli.bench.exact import compare
from lacli.bench.modes import COMPARED
from lacli.models.base import Rows, Scores
from lacli.models.runners.scores import scores_of
from tests.bench.fakes import VOCAB, TableBench, cases, walk
from tests.fakes import TableRunner


class LeakyRunner(TableRunner):
    """A runner whose rows see each other: with many rows in a step, the real row changes its mind."""

    def forward(self, rows: Rows) -> Scores:
        logits = super().forward(rows).logits
        if len(rows.token_ids) > 4 and self.length > 20:
            logits[0, 50] = 1000.0
        return scores_of(logits)


def quiet(text: str) -> None:
    """A progress nobody reads."""


def test_an_exact_engine_has_no_differences_in_any_mode() -> None:
    result = compare(TableBench(), cases(2), quiet)
    assert result.differences == ()
    assert result.texts == 2 * len(COMPARED)
    assert result.tokens == 40 * result.texts


def test_cold_warm_and_poisoned_are_compared_greedy_and_sampled() -> None:
    compared = {(mode.pool, mode.sampled) for mode in COMPARED}
    assert {(pool, sampled) for pool in ("", "own", "wrong") for sampled in (False, True)} <= compared


def test_a_leak_between_rows_is_found_with_prompt_mode_and_position() -> None:
    runner: Any = LeakyRunner(walk, vocab_size=VOCAB)
    result = compare(TableBench(runner=runner), cases(1), quiet)
    assert result.differences
    worst = next(found for found in result.differences if found.mode == "warm-replay")
    assert worst.prompt == "case-0"
    assert worst.position > 0
    assert worst.found[0] == 50
    assert worst.expected[0] != 50
