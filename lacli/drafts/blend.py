"""Combines two predictors of the next token: the successor table, of what this model said, and the n-gram table.

A logistic regression over the two probabilities. Fitted on replays of the code suite with both registry models that we
have (40,000 candidates, cross-validated by prompt), coefficients rounded. The slopes for the successor table lie
between those fitted to its prior rates and those fitted to rates corrected over many prompts. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lacli.drafts.base import Found

_STATES = range(3)
PAIR_KNOWN, TOKEN_KNOWN, UNKNOWN = _STATES
"""What the successor table knows of a context: its last two tokens, only the last one, or nothing."""

# By kind of follower: of the pair, of the token alone, of the token where the pair is known, too.
_CLAIM = (-0.45, -0.60, -0.70)
_CLAIM_SLOPE = (0.72, 0.72, 0.60)
# By the length of the n-gram's context (none, 1 to 4): whether it names this follower, too, or only others.
_AGREES = (0.0, 1.5, 1.4, 1.4, 1.5)
_AGREES_SLOPE = 0.36
_DISSENTS = (0.0, -0.45, -0.80, -0.90, -1.40)
# Followers that only the n-gram table names, by state.
_ALONE = (-2.8, -1.8, -1.5)
_ALONE_SLOPE = (0.60, 0.72, 0.63)
_ALONE_LONGER = (0.0, 0.0, 0.45, 1.0, 1.05)


def _logit(chance: float) -> float:
    return math.log(chance / (1 - chance))


_LOGITS = tuple([_logit(min(0.97, max(1e-4, 2 ** (-weight / 16)))) for weight in range(256)])
"""Logit of an n-gram's probability, by its stored weight."""


def claim(rate: float, kind: int) -> float:
    """The term, in logits, for the successor table's acceptance rate of a class of followers."""
    return _CLAIM[kind] + _CLAIM_SLOPE[kind] * _logit(min(0.999, max(1e-4, rate)))


def blended(claims: Sequence[tuple[int, float]], state: int, found: Found) -> list[tuple[int, float]]:
    """The followers named by either table, each with its probability; those of `claims` come first.

    claims: followers of the successor table with their `claim`; state: what that table knows of the context.
    """
    order, followers, weights = found
    named = dict(zip(followers, weights, strict=True))
    exp, agrees, dissents = math.exp, _AGREES[order], _DISSENTS[order]
    chances = []
    for follower, said in claims:
        weight = named.pop(follower, None)
        said += dissents if weight is None else agrees + _AGREES_SLOPE * _LOGITS[weight]
        chances.append((follower, 1 / (1 + exp(-said))))
    if named:
        alone, slope = _ALONE[state] + _ALONE_LONGER[order], _ALONE_SLOPE[state]
        for follower, weight in named.items():
            chances.append((follower, 1 / (1 + exp(-alone - slope * _LOGITS[weight]))))
    return chances
