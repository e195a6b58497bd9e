"""One ordinary draw per emitted token, processors first. Pure but for the random state and the ids it has drawn.

Drawing exactly once for each emitted token, in order, is what makes the text of a seed the same with and without
drafts (design §5.1). The generator is Python's own, so a seed gives the same text on every device and release.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from lacli.errors import LacliError
from lacli.models.base import Scores

_NUCLEUS_GUESS = 256  # sorting 49,152 logits costs 5 ms; the nucleus is nearly always within the first few


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """How a token is drawn from logits."""

    temperature: float = 0.0
    """0 is greedy: the highest logit, the lowest id on a tie."""
    top_k: int = 0
    """Only the k likeliest tokens (all tied with the last of them); 0 is all."""
    top_p: float = 1.0
    """Only the smallest set of likeliest tokens whose probability reaches p; 1 is all."""
    repetition_penalty: float = 1.0
    """Logits of ids already in the context are divided (if positive) or multiplied by it (CTRL, arXiv 1909.05858)."""
    seed: int | None = None
    """None takes one from the system."""


class Sampler:
    """Draws the tokens of one reply."""

    def __init__(self, options: SamplingOptions, context: Iterable[int] = ()) -> None:
        self._options = options
        self._random = random.Random(options.seed)
        self._seen = set(context) if options.repetition_penalty != 1.0 else set()

    def draw(self, scores: Scores, row: int) -> int:
        """Draw the token that follows this row, and count it as emitted."""
        options = self._options
        penalised = options.repetition_penalty != 1.0 and self._seen
        if options.temperature == 0.0 and not penalised:
            token_id, best = int(scores.top_ids[row, 0]), float(scores.top_logits[row, 0])
            if not math.isfinite(best):
                raise _not_finite()
        else:
            logits = self._penalised(scores.logits[row]) if penalised else scores.logits[row]
            token_id = self._best(logits) if options.temperature == 0.0 else self._sampled(logits)
        if options.repetition_penalty != 1.0:
            self._seen.add(token_id)
        return token_id

    @staticmethod
    def _best(logits: Tensor) -> int:
        token_id = int(torch.argmax(logits))
        if not bool(torch.isfinite(logits[token_id])):
            raise _not_finite()
        return token_id

    def _penalised(self, logits: Tensor) -> Tensor:
        ids = torch.tensor(sorted(self._seen), device=logits.device)
        scores = logits[ids]
        penalty = self._options.repetition_penalty
        return logits.index_copy(0, ids, torch.where(scores < 0, scores * penalty, scores / penalty))

    def _sampled(self, logits: Tensor) -> int:
        """Inverse transform in float64 over the allowed tokens in id order."""
        options = self._options
        top = logits.max()
        if not bool(torch.isfinite(top)):
            raise _not_finite()
        scaled = (logits.to(torch.float64) - top.to(torch.float64)) / options.temperature
        if 0 < options.top_k < logits.shape[0]:
            threshold = torch.topk(logits, options.top_k).values[-1]
            scaled = scaled.masked_fill(logits < threshold, float("-inf"))
        weights = torch.exp(scaled)
        if options.top_p < 1.0:
            weights = _nucleus(weights, options.top_p)
        cumulative = torch.cumsum(weights, dim=0)
        target = self._random.random() * float(cumulative[-1])
        token_id = int(torch.searchsorted(cumulative, target, right=True))
        if token_id >= logits.shape[0] or float(weights[token_id]) == 0.0:  # rounding at the upper end
            token_id = int(torch.nonzero(weights)[-1])
        return token_id


def _nucleus(weights: Tensor, top_p: float) -> Tensor:
    """Zero all weights below the smallest one in the nucleus; ties with it stay."""
    wanted = top_p * float(weights.sum())
    count = min(_NUCLEUS_GUESS, weights.shape[0])
    best = torch.topk(weights, count).values
    if float(best.sum()) < wanted:
        best = torch.sort(weights, descending=True).values
    cumulative = torch.cumsum(best, dim=0)
    last = min(int(torch.searchsorted(cumulative, wanted)), best.shape[0] - 1)
    return torch.where(weights >= best[last], weights, torch.zeros_like(weights))


def _not_finite() -> LacliError:
    return LacliError("the model gave logits that are not finite", "the weights may be damaged; try --quant none")
