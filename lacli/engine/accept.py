"""Verification by sampling: walk the tree with the ordinary sampler.

At each row the next token is drawn exactly as plain decoding would draw it. If a child of the row holds that token, its
logits have already been computed and the walk continues there; otherwise it ends. Every drawn token is emitted, the
last one included (the bonus token), so the output does not depend on the guesses. This is sample-and-match; for
deterministic guesses it equals Algorithm 4 of arXiv 2402.02057, with one random number per token.
"""

from __future__ import annotations

from lacli.engine.sampler import Sampler
from lacli.engine.step import Accepted
from lacli.models.base import Rows, Scores


def accept(rows: Rows, scores: Scores, sampler: Sampler) -> Accepted:
    """Walk from row 0 along the sampled tokens. `scores` are those of `rows.wanted`, in that order."""
    scored = {row: index for index, row in enumerate(rows.wanted)}
    children = {(parent, rows.token_ids[row]): row for row, parent in enumerate(rows.parents)}
    path, token_ids = [0], []
    while True:
        token_id = sampler.draw(scores, scored[path[-1]])
        token_ids.append(token_id)
        child = children.get((path[-1], token_id))
        if child is None or child not in scored:
            return Accepted(tuple(path), tuple(token_ids))
        path.append(child)
