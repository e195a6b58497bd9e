"""The best tokens of a row of logits: in order, ties by id, NaN first."""

from __future__ import annotations

import random

import pytest
import torch

from lacli.models.base import TOP
from lacli.models.runners.scores import scores_of

NAN, INF = float("nan"), float("inf")


def in_order(row: list[float]) -> list[int]:
    return sorted(range(len(row)), key=lambda token: (-row[token], token))[:TOP]


@pytest.mark.parametrize("vocab", [1, 2, 7, 8, 9, 31, 33, 500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_best_come_first_and_of_equals_the_lower_id(vocab: int, dtype: torch.dtype) -> None:
    generator = random.Random(vocab)
    for kinds in (2, 5, 40, 10_000):  # few kinds of logits: many ties, also across the last place
        logits = torch.tensor([[generator.randrange(kinds) / 7 for _ in range(vocab)] for _ in range(6)], dtype=dtype)
        scores = scores_of(logits)
        assert scores.logits is logits
        assert len(scores) == 6
        assert scores.top_ids.tolist() == [in_order(row) for row in logits.tolist()]
        expected = logits.gather(1, torch.from_numpy(scores.top_ids).long()).float()
        assert scores.top_logits.tolist() == expected.tolist()
        assert (scores.top_ids.dtype, scores.top_logits.dtype) == ("int32", "float32")


def test_what_differs_only_in_float64_is_no_tie() -> None:
    assert scores_of(torch.tensor([[1.0, 1.0 + 1e-12]], dtype=torch.float64)).top_ids.tolist() == [[1, 0]]


@pytest.mark.parametrize("row", [[1.0, NAN, INF], [NAN] * 60, [INF, *[0.0] * 60, NAN], [-INF, NAN]])
def test_a_row_with_a_nan_says_so_first(row: list[float]) -> None:
    scores = scores_of(torch.tensor([[0.0] * len(row), row]))
    assert scores.top_logits[1, 0] != scores.top_logits[1, 0]
    assert scores.top_logits[0].tolist() == [0.0] * min(TOP, len(row))
    assert set(scores.top_ids[1].tolist()) <= set(range(len(row)))


def test_infinities_are_ordered_like_any_number() -> None:
    scores = scores_of(torch.tensor([[-INF] * 50, [-INF, INF, *[0.0] * 48]]))
    assert scores.top_ids.tolist() == [list(range(8)), [1, 2, 3, 4, 5, 6, 7, 8]]
