"""What decided that two texts part: rounding, or more than that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lacli.bench.divergence import explain
from lacli.bench.exact import compare
from lacli.models.base import Rows, Scores
from lacli.models.runners.scores import scores_of
from tests.bench.fakes import VOCAB, TableBench, cases, walk
from tests.bench.test_exact import LeakyRunner, quiet
from tests.fakes import TableRunner


class RoundingRunner(TableRunner):
    """Token 5 is moved up by a hundredth wherever several rows run."""

    def forward(self, rows: Rows) -> Scores:
        logits = super().forward(rows).logits
        if len(rows.token_ids) > 1:
            logits[:, 5] += 0.01
        return scores_of(logits)


def leads_by(margin: float) -> RoundingRunner:
    """Token 4 leads 5 by so much after any text, and both lead all others."""

    def table(context: Sequence[int]) -> Any:
        logits = [0.0] * 64
        logits[4], logits[5] = 1.0 + margin, 1.0
        return logits

    return RoundingRunner(table)


class TestExplain:
    def test_a_near_tie_is_called_one(self) -> None:
        why = explain(leads_by(0.004), (1, 2, 3), (4,) * 21, (5, 4, 4), 20)
        assert why is not None
        assert (why.expected, why.found) == (4, 5)
        assert why.margin == pytest.approx(0.004, abs=1e-5)
        assert why.wide_margin == pytest.approx(-0.006, abs=1e-5)
        assert why.rounding == pytest.approx(0.01, abs=1e-5)
        assert why.is_near_tie
        assert why.sentence().startswith("token 4 leads 5 by 0.004 one row a step, by -0.006 with 16 rows")
        assert why.sentence().endswith("rounding decided")

    def test_a_wide_margin_is_not(self) -> None:
        why = explain(leads_by(0.5), (1, 2, 3), (4,) * 21, (5,), 20)
        assert why is not None
        assert not why.is_near_tie
        assert "please report" in why.sentence()

    def test_the_first_token_is_of_the_same_prefill_both_ways(self) -> None:
        why = explain(leads_by(0.5), (1, 2, 3), (4, 4), (5,), 0)
        assert why is not None
        assert why.rounding == 0.0

    @pytest.mark.parametrize(("expected", "found", "position"), [((4, 4), (5,), 2), ((4, 4), (), 1)])
    def test_a_text_that_has_ended_is_not_explained(
        self, expected: tuple[int, ...], found: tuple[int, ...], position: int
    ) -> None:
        assert explain(leads_by(0.5), (1,), expected, found, position) is None


def test_differences_of_a_comparison_are_explained_where_that_is_asked_for() -> None:
    runner: Any = LeakyRunner(walk, vocab_size=VOCAB)
    found = compare(TableBench(runner=runner), cases(1), quiet, explained=True).differences
    worst = next(each for each in found if each.mode == "warm-replay")
    assert worst.explained is not None
    assert (worst.explained.expected, worst.explained.found) == (worst.expected[0], 50)
    assert not worst.explained.is_near_tie
    plain = compare(TableBench(runner=LeakyRunner(walk, vocab_size=VOCAB)), cases(1), quiet).differences  # type: ignore[arg-type]
    assert [each.position for each in plain] == [each.position for each in found]
    assert {each.explained for each in plain} == {None}
