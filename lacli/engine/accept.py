"""Verification by agreement: walk the tree with the ordinary sampler.

At each row the next token is drawn as plain decoding would draw it; where a child holds just that token its row has
already been computed and the walk goes on, else it ends. Every draw is emitted, the last one too (bonus token), so the
text is the model's own whatever was guessed (sample-and-match; equals Algorithm 4 of arXiv 2402.02057 for guesses that
are points, with one random number a token).
"""

from __future__ import annotations

from lacli.engine.sampler import Sampler
from lacli.engine.step import Accepted
from lacli.models.base import Rows, Scores


def accept(rows: Rows, scores: Scores, sampler: Sampler) -> Accepted:
    """Follow the draws from row 0. scores: of `rows.wanted`."""
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
