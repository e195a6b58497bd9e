"""The n-grams of the lookahead window as a draft source; filled by `engine.window`, lives for one reply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lacli.drafts.base import Draft
from lacli.drafts.calibration import Calibrated, Calibration

_PER_KEY = 8  # n-grams kept per first token, newest first


class WindowSource(Calibrated):
    """N-grams by first token, as in the n-gram pool of the reference implementation."""

    name = "window"

    def __init__(self) -> None:
        super().__init__(Calibration([0.3 / (1 + rank) ** 0.5 for rank in range(_PER_KEY)], [0.5] * _PER_KEY))
        self._grams: dict[int, list[tuple[int, ...]]] = {}

    def learn(self, grams: Iterable[tuple[int, ...]]) -> None:
        """Add the n-grams of one step; one that is known already moves to the front."""
        for first, *rest in grams:
            known = self._grams.setdefault(first, [])
            follow = tuple(rest)
            if follow in known:
                known.remove(follow)
            known.insert(0, follow)
            del known[_PER_KEY:]

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        """See `DraftSource.propose`."""
        drafts = []
        for rank, gram in enumerate(self._grams.get(context[-1], ())):
            run = gram[:room]
            drafts.append(Draft(run, self._calibration.chances(rank, len(run)), self.name, rank))
        return drafts
