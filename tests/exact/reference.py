"""The dumb loop every clever one is compared with: one row a step, the likeliest token, no drafts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lacli.models.base import Rows, Runner


def greedy(prompt: Sequence[int], runner: Runner, count: int, stop_ids: Collection[int] = ()) -> list[int]:
    """The next `count` tokens after `prompt`, at most up to a stop id."""
    runner.truncate(0)
    scores = runner.prefill(prompt)
    assert scores is not None
    token_ids: list[int] = []
    while len(token_ids) < count and (token := int(scores.logits[0].argmax())) not in stop_ids:
        token_ids.append(token)
        scores = runner.forward(Rows((token,), (-1,), (0,)))
        runner.keep([0])
    return token_ids
