"""Where a reply begins to go round in circles. Small models loop, and a loop is the easiest text there is to guess.

A reply counts for measuring up to its fourth repeat of an 8-gram.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lacli.engine.step import Cut, Finish

LENGTH = 8
REPEATS = 4


class LoopStop:
    """A `StopRule` that ends a reply with the token that completes an 8-gram for the fourth time."""

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._seen: Counter[tuple[int, ...]] = Counter()

    def cut(self, token_ids: Sequence[int]) -> Cut:
        """See `StopRule.cut`."""
        for count, token_id in enumerate(token_ids, start=1):
            self._ids.append(token_id)
            gram = tuple(self._ids[-LENGTH:])
            self._seen[gram] += len(gram) == LENGTH
            if self._seen[gram] == REPEATS:
                return Cut(count, Finish.STOP)
        return Cut(len(token_ids))


def loop_start(token_ids: Sequence[int]) -> int:
    """How many tokens of a reply count; all of them where it does not loop."""
    return LoopStop().cut(token_ids).keep
