"""Online calibration of guesses by class, and the base class of the sources that use it.

A class is what a source knows about a guess before it is verified (length of the match, share among the alternatives).
For each class and depth, the conditional acceptance probability is a Beta mean with decayed counts around a prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, repeat
from operator import mul
from typing import Self

from lacli.drafts.base import Draft

_DECAY = 0.97
_STRENGTH = 3.0  # weight of the prior, in guesses
_DEPTHS = (0, 1, 2, 3, 3, 4, 4, 4, 4)  # depth -> row of the table
_DEEPER = 5  # row of all greater depths


class Calibration:
    """Calibrated acceptance probabilities of one source."""

    def __init__(self, first: Sequence[float], later: Sequence[float]) -> None:
        """Priors per class: `first` for the first token, `later` for each later one, given all before it."""
        self._priors = [(start, *(follow,) * 5) for start, follow in zip(first, later, strict=True)]
        self._right = [[0.0] * 6 for _ in first]
        self._judged = [[0.0] * 6 for _ in first]

    def chances(self, key: int, count: int) -> tuple[float, ...]:
        """For a guess of this class with `count` tokens: the probability of each prefix, non-increasing."""
        prior, right, judged = self._priors[key], self._right[key], self._judged[key]
        rates = [(right[row] + _STRENGTH * prior[row]) / (judged[row] + _STRENGTH) for row in range(6)]
        # Hot: drafts are as long as allowed, and this runs dozens of times per step.
        given = [rates[row] for row in _DEPTHS[:count]]
        given += repeat(rates[_DEEPER], count - len(given))
        return tuple(accumulate(given, mul))

    def learn(self, key: int, accepted: int, judged: int) -> None:
        """Update with a guess of this class: of the `judged` tokens that the text decided, the first `accepted` were
        right."""
        for depth in range(judged):
            row = _DEPTHS[depth] if depth < len(_DEPTHS) else _DEEPER
            self._right[key][row] = _DECAY * self._right[key][row] + (depth < accepted)
            self._judged[key][row] = _DECAY * self._judged[key][row] + 1

    def numbers(self) -> list[float]:
        """The learned counts, for `restore` in a later process."""
        return [value for table in (self._right, self._judged) for row in table for value in row]

    def restore(self, numbers: Sequence[float]) -> None:
        """Restore `numbers`; a list of another shape is ignored."""
        count = 6 * len(self._priors)
        if len(numbers) != 2 * count or not all(0 <= value < 1e6 for value in numbers):
            return
        rows = [list(numbers[at : at + 6]) for at in range(0, 2 * count, 6)]
        self._right, self._judged = rows[: len(self._priors)], rows[len(self._priors) :]


class Calibrated:
    """A `DraftSource` without `propose`: learns the calibration of its guesses, and nothing from the text."""

    def __init__(self, calibration: Calibration) -> None:
        self._calibration = calibration

    def start(self, context: Sequence[int]) -> None:
        """See `GuessSource.start`."""

    def credit(self, draft: Draft, accepted: int) -> None:
        """See `DraftSource.credit`."""
        self._calibration.learn(draft.key, accepted, len(draft.token_ids))

    def observe(self, token_ids: Sequence[int]) -> None:
        """See `GuessSource.observe`."""

    def fork(self) -> Self:
        """See `GuessSource.fork`."""
        return self

    def merge(self, fork: Self) -> None:
        """See `GuessSource.merge`."""

    def numbers(self) -> list[float]:
        """See `GuessSource.numbers`."""
        return self._calibration.numbers()

    def restore(self, numbers: Sequence[float]) -> None:
        """See `GuessSource.restore`."""
        self._calibration.restore(numbers)
