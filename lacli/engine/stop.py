"""Where an accepted run ends: at an end-of-sequence id, at the token budget, or where the injected rule says.

Decided once, before anything is committed. The engine has no text, so stop strings are injected as a `StopRule` (see
lacli.text.stops).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from lacli.engine.step import Cut, Finish


class StopRule(Protocol):
    """A further stop condition, called once per step."""

    def cut(self, token_ids: Sequence[int]) -> Cut:
        """Cut the run just accepted, which has already been cut at end of sequence and budget.

        Stateful: the tokens kept are consumed; the next call continues behind them.
        """
        ...


class Stops:
    """The stop conditions of one reply: end-of-sequence ids, token budget, optional rule; applied in this order."""

    def __init__(self, eos_ids: Collection[int], max_tokens: int, rule: StopRule | None = None) -> None:
        self._eos_ids = frozenset(eos_ids)
        self._room = max_tokens
        self._rule = rule

    @property
    def room(self) -> int:
        """Tokens that may still be delivered."""
        return self._room

    def cut(self, token_ids: Sequence[int]) -> Cut:
        """Decide how many tokens of this accepted run are delivered, and whether the reply ends with them."""
        keep, finish = len(token_ids), None
        for index, token_id in enumerate(token_ids):
            if token_id in self._eos_ids:
                keep, finish = index, Finish.STOP
                break
        if keep >= self._room:  # plain decoding would not draw the end-of-sequence token that follows the budget
            keep, finish = self._room, Finish.LENGTH
        if self._rule is not None:
            ruled = self._rule.cut(token_ids[:keep])
            if ruled.finish is not None:
                keep, finish = ruled.keep, ruled.finish
        self._room -= keep
        return Cut(keep, finish)
