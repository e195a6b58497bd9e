"""One draw per emitted token, after the logit processors. Pure except for the random state and the ids drawn so far.

Drawing exactly once per emitted token, in order, is what makes the text for a seed the same with and without drafts
(design §5.1). The generator is Python's own, so a seed gives the same text on every device and release.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacli.models.base import Scores, not_finite

_Floats = NDArray[np.floating[Any]]
_BIN_BITS = 52 - 6  # 64 bins between a weight and its half
_BINS = 64 * 64


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
    """Logits of ids already in the context are divided by it if positive, else multiplied (CTRL, arXiv 1909.05858)."""
    seed: int | None = None
    """None: seeded by the operating system."""


@dataclass(frozen=True, slots=True)
class FirstToken:
    """A first token that is chosen by its rank among the model's logits instead of drawn.

    Blank tokens do not count: leading ones are taken greedily until the chosen token's turn comes.
    """

    rank: int
    """0 is the likeliest, the lower id first on a tie."""
    excluded: frozenset[int] = frozenset()
    """Ids left out of the ranking."""


class Sampler:
    """Draws the tokens of one reply.

    In numpy, on one thread: torch's worker threads would spin on the cores that the next forward needs.
    """

    def __init__(
        self,
        options: SamplingOptions,
        context: Iterable[int] = (),
        first_token: FirstToken | None = None,
        keep_log_probabilities: bool = False,
        blank: Callable[[int], bool] = lambda token_id: False,
    ) -> None:
        """`keep_log_probabilities`: fill `log_probabilities`. `blank`: whether a token is whitespace only."""
        self._options = options
        self._first_token = first_token
        self._keeps_log_probabilities = keep_log_probabilities
        self.log_probabilities: list[float] = []
        """Log probability of each token drawn under the model's own logits, without temperature and penalty."""
        self.first: tuple[int, ...] = ()
        """The first non-blank token drawn; empty before."""
        self._blank = blank
        self._random = random.Random(options.seed)
        self._penalises = options.repetition_penalty != 1.0
        self._seen = set(context) if self._penalises else set()
        self._seen_ids = np.array(sorted(self._seen), dtype=np.int64)

    def draw(self, scores: Scores, row: int) -> int:
        """Draw the token that follows this row, and count it as emitted."""
        if not math.isfinite(scores.top_logits.item(row, 0)):
            raise not_finite()
        first = self._first_token
        if (
            first is None
            and not self._keeps_log_probabilities
            and self._options.temperature == 0.0
            and not self._penalises
        ):
            token_id: int = scores.top_ids.item(row, 0)
        elif scores.on_device and self._draws_from_nucleus:
            token_id = self._drawn_there(scores, row)
        else:
            logits: _Floats = scores.row(row)
            token_id = self._chosen(logits) if first is None else self._begun(logits, first)
            if self._keeps_log_probabilities:
                self.log_probabilities.append(_log_probability(logits, token_id))
        if not self.first and not self._blank(token_id):
            self.first = (token_id,)
        if self._penalises and token_id not in self._seen:
            self._seen.add(token_id)
            self._seen_ids = np.append(self._seen_ids, token_id)
        return token_id

    @property
    def _draws_from_nucleus(self) -> bool:
        """Whether a small part of a row decides, and nothing else of it is asked for."""
        options = self._options
        plain = self._first_token is None and not self._keeps_log_probabilities and not self._penalises
        return plain and options.temperature > 0.0 and options.top_p < 1.0 and options.top_k == 0

    def _drawn_there(self, scores: Scores, row: int) -> int:
        """`_sampled` where the vocabulary need not be copied: the device leaves out what no nucleus can have."""
        vocabulary, top_p = scores.logits.shape[-1], self._options.top_p
        ids, weights, total = scores.weights(row, self._options.temperature, _least_share(top_p, vocabulary))
        nucleus = _nucleus(weights, top_p, total, vocabulary)
        return int(ids[nucleus][self._place(weights[nucleus])])

    def _begun(self, logits: _Floats, first_token: FirstToken) -> int:
        likeliest = int(logits.argmax())
        if self._blank(likeliest):
            return likeliest
        self._first_token = None
        return _ranked(logits, first_token, self._blank)

    def _chosen(self, logits: _Floats) -> int:
        if self._penalises:
            logits = self._penalised(logits)
        return int(logits.argmax()) if self._options.temperature == 0.0 else self._sampled(logits)

    def _penalised(self, logits: _Floats) -> _Floats:
        ids, penalty = self._seen_ids, self._options.repetition_penalty
        seen = logits[ids]
        logits = logits.copy()
        logits[ids] = np.where(seen < 0, seen * penalty, seen / penalty)
        return logits

    def _sampled(self, logits: _Floats) -> int:
        """Inverse transform sampling in float64 over the allowed tokens, in id order."""
        options = self._options
        best = logits.max()
        allowed = None
        if 0 < options.top_k < len(logits):
            allowed = np.flatnonzero(logits >= np.partition(logits, -options.top_k)[-options.top_k])
            logits = logits[allowed]
        weights = np.subtract(logits, best, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):  # temperatures close to 0
            weights /= options.temperature
            np.exp(weights, out=weights)
        if options.top_p < 1.0:
            nucleus = _nucleus(weights, options.top_p, float(weights.sum()), len(weights))
            allowed, weights = nucleus if allowed is None else allowed[nucleus], weights[nucleus]
        place = self._place(weights)
        return place if allowed is None else int(allowed[place])

    def _place(self, weights: _Floats) -> int:
        """One draw among these weights."""
        cumulative = weights.cumsum()
        place = int(cumulative.searchsorted(self._random.random() * cumulative[-1], side="right"))
        return place if place < len(weights) else int(np.flatnonzero(weights)[-1])  # rounding at the upper end


def _ranked(logits: _Floats, first_token: FirstToken, blank: Callable[[int], bool]) -> int:
    """The id at this rank among the non-blank ids; the last one if there are fewer."""
    left = logits.copy()
    left[[token_id for token_id in first_token.excluded if token_id < len(left)]] = -np.inf
    token_id = int(left.argmax())
    rank = -1
    while np.isfinite(left.max()):
        at = int(left.argmax())
        left[at] = -np.inf
        if not blank(at):
            token_id, rank = at, rank + 1
        if rank == first_token.rank:
            break
    return token_id


def _log_probability(logits: _Floats, token_id: int) -> float:
    best = logits.max()
    weights = np.exp(np.subtract(logits, best, dtype=np.float64))
    return float(logits[token_id]) - float(best) - math.log(float(weights.sum()))


def _least_share(top_p: float, vocabulary: int) -> float:
    """What is below this share is, all together, less than half of what a nucleus may leave out."""
    return 0.5 * (1.0 - top_p) / vocabulary


def _nucleus(weights: _Floats, top_p: float, total: float, vocabulary: int) -> NDArray[np.intp]:
    """Places of the smallest set of greatest weights that has the share p of all; ties with the last of it stay, too.

    total: the sum over the whole vocabulary, of which `weights` may be the likelier part. Never sorts much: a flat
    distribution has a nucleus of thousands.
    """
    likely = np.flatnonzero(weights >= _least_share(top_p, vocabulary) * total)
    weights = weights[likely]
    # Sum by bins, and sort only the bin in which the sum reaches p. The leading bits of positive float64 values order
    # like the values, so they serve as bin numbers.
    bins = weights.view(np.int64) >> _BIN_BITS
    bins = np.minimum(bins.max() - bins, _BINS - 1)
    sums = np.bincount(bins, weights).cumsum()
    reached = min(int(sums.searchsorted(top_p * total)), len(sums) - 1)
    inside = np.sort(weights[bins == reached])[::-1]
    above = sums[reached - 1] if reached else 0.0
    last = int((above + inside.cumsum()).searchsorted(top_p * total))
    return likely[weights >= inside[min(last, len(inside) - 1)]]
