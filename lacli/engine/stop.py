"""Where an accepted run ends: end-of-sequence ids, budget, then the injected rule.

Decided once, before any commit. The engine knows no text, so stop strings come in as a `StopRule` (lacli.text.stops).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from lacli.engine.step import Cut, Finish


class StopRule(Protocol):
    """A further reason to end, asked once per step."""

    def cut(self, token_ids: Sequence[int]) -> Cut:
        """Judge the run just accepted, already cut at end of sequence and budget.

        Stateful: the tokens it keeps are consumed and belong to the text from now on.
        """
        ...


class Stops:
    """End-of-sequence ids, the token budget and an optional rule of one reply, applied in this order."""

    def __init__(self, eos_ids: Collection[int], max_tokens: int, rule: StopRule | None = None) -> None:
        self._eos_ids = frozenset(eos_ids)
        self._room = max_tokens
        self._rule = rule

    @property
    def room(self) -> int:
        """Tokens that may still be delivered."""
        return self._room

    def cut(self, token_ids: Sequence[int]) -> Cut:
        """How many tokens of this accepted run are delivered, and whether the reply ends with them."""
        keep, finish = len(token_ids), None
        for index, token_id in enumerate(token_ids):
            if token_id in self._eos_ids:
                keep, finish = index, Finish.STOP
                break
        if keep >= self._room:  # plain decoding never draws the end token just behind the budget
            keep, finish = self._room, Finish.LENGTH
        if self._rule is not None:
            ruled = self._rule.cut(token_ids[:keep])
            if ruled.finish is not None:
                keep, finish = ruled.keep, ruled.finish
        self._room -= keep
        return Cut(keep, finish)
