"""The successor table: for each token the likeliest next tokens the model gave the last time it ran on it.

Token Recycling (arXiv 2408.08696): every verified row, accepted or not, leaves its top tokens as the entry of its own
token, and chains of entries are grown into a tree, best first by the learned chance of each rank. It costs no rows of
its own to fill. Filled by `engine.loop`; kept for the life of the process.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from lacli.drafts.base import Draft

SUCCESSORS = 8
_PRIOR = (0.36, 0.12, 0.06, 0.04, 0.03, 0.02, 0.02, 0.01)
_STRENGTH = 20.0
_DECAY = 0.995
_FLOOR = 0.01  # a guess this unlikely pays on no machine


class SuccessorSource:
    """Proposes one tree a step."""

    name = "successor"

    def __init__(self, most: int = 63) -> None:
        """most: tokens of a tree."""
        self._most = most
        self._table: dict[int, list[int]] = {}
        self._hits = [_STRENGTH * prior for prior in _PRIOR]
        self._trials = _STRENGTH
        self._last = -1

    def __len__(self) -> int:
        return len(self._table)

    def start(self, context: Sequence[int]) -> None:
        """See `DraftSource.start`."""
        self._last = context[-1] if context else -1

    def learn(self, token_ids: Iterable[int], best: Iterable[list[int]]) -> None:
        """After a forward: the top tokens of each row, likeliest first, and the row's own token."""
        self._table.update(zip(token_ids, best, strict=True))

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        """See `DraftSource.propose`."""
        rates = [hits / self._trials for hits in self._hits]
        token_ids: list[int] = []
        chances: list[float] = []
        parents: list[int] = []
        # heap: -chance, tie-breaker, token, parent, depth
        ahead: list[tuple[float, int, int, int, int]] = []
        count = 0

        def push(token_id: int, chance: float, parent: int, depth: int) -> None:
            nonlocal count
            for rate, follower in zip(rates, self._table.get(token_id, ()), strict=False):
                if rate * chance < _FLOOR:
                    continue
                count += 1
                heapq.heappush(ahead, (-rate * chance, count, follower, parent, depth))

        push(context[-1], 1.0, -1, 1)
        while ahead and len(token_ids) < self._most:
            negative, _, token_id, parent, depth = heapq.heappop(ahead)
            token_ids.append(token_id)
            chances.append(-negative)
            parents.append(parent)
            if depth < room:
                push(token_id, -negative, len(token_ids) - 1, depth + 1)
        if not token_ids or room <= 0:
            return ()
        return (Draft(tuple(token_ids), tuple(chances), self.name, 0, tuple(parents)),)

    def credit(self, draft: Draft, accepted: int) -> None:
        """Never called: a tree is judged in `observe`."""

    def observe(self, token_ids: Sequence[int]) -> None:
        """Learn which rank of the last token's entry came true."""
        for token_id in token_ids:
            entry = self._table.get(self._last)
            if entry is not None:
                self._trials = _DECAY * self._trials + 1
                self._hits = [_DECAY * hits for hits in self._hits]
                if token_id in entry:
                    self._hits[entry.index(token_id)] += 1
            self._last = token_id
