"""Where two texts of one prompt part, and by what margin: a near-tie that rounding decides, or more than that.

On a CPU texts never part. On CUDA kernels round differently for different numbers of rows, and what that moves is
measured here, at the very place: the text up to there is computed one row a step and again many rows a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacli.models.base import Rows, Runner

_MANY = 16
"""Rows of the wide steps; none are filled up, and a tree has about as many."""
_BOTH_MOVE = 2.0
"""Two logits may each be moved by what one is."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """What decided the first token that differs."""

    expected: int
    """The token of plain decoding; the next one, what was found in its place."""
    found: int
    margin: float
    """By how much the logit of the expected one is greater, one row a step."""
    wide_margin: float
    """The same with many rows a step."""
    rounding: float
    """The most by which any logit differs between both ways."""

    @property
    def is_near_tie(self) -> bool:
        """Whether rounding can have decided. Where tokens are drawn, the draw itself may lie near an edge instead."""
        return abs(self.margin) <= _BOTH_MOVE * self.rounding

    def sentence(self) -> str:
        """For people."""
        verdict = "rounding decided" if self.is_near_tie else "more than rounding explains: please report it"
        return (
            f"token {self.expected} leads {self.found} by {self.margin:.4g} one row a step, by {self.wide_margin:.4g} "
            f"with {_MANY} rows; logits differ by up to {self.rounding:.4g} between both: {verdict}"
        )


def explain(
    runner: Runner, prompt: Sequence[int], expected: Sequence[int], found: Sequence[int], position: int
) -> Divergence | None:
    """The first difference of two texts, which is at `position`; None where one of them has ended there.

    expected, found: from `position` on, `expected` with all before it. Leaves other text in the cache.
    """
    if position >= len(expected) or not found:
        return None
    one, many = (_logits(runner, prompt, expected[:position], rows) for rows in (1, _MANY))
    right, other = expected[position], found[0]
    return Divergence(
        expected=right,
        found=other,
        margin=float(one[right] - one[other]),
        wide_margin=float(many[right] - many[other]),
        rounding=float(np.abs(one - many).max()),
    )


def _logits(runner: Runner, prompt: Sequence[int], text: Sequence[int], rows: int) -> NDArray[np.float32]:
    """The logits after prompt and text, the text read so many rows a step."""
    runner.truncate(0)
    scores = runner.prefill(prompt)
    for start in range(0, len(text), rows):
        part = tuple(text[start : start + rows])
        scores = runner.forward(Rows(part, tuple(range(-1, len(part) - 1)), tuple(range(len(part)))))
        runner.keep(range(len(part)))
    assert scores is not None
    return np.array(scores.row(len(scores) - 1), dtype=np.float32)
