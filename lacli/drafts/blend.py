"""One chance from two witnesses: what the model was seen to say, and what text of its kind says.

A logistic regression over what the successor table claims of a token and what the n-gram table (`ngrams`) does. Fitted
on the replays of the code suite of both registry models that we have (40,000 candidates; judged by prompts it was not
fitted on), rounded. The slopes of what the table claims lie between those for rates as they begin and for rates that
many prompts have corrected. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lacli.drafts.base import Found

_STATES = range(3)
PAIR_KNOWN, TOKEN_KNOWN, UNKNOWN = _STATES
"""What the successor table has at a place: the pair of its last tokens, the last token alone, or nothing."""

# What the table claims, by kind: followers of the pair, of the token alone, of the token beside a known pair.
_CLAIM = (-0.45, -0.60, -0.70)
_CLAIM_SLOPE = (0.72, 0.72, 0.60)
# By the tokens of the n-gram's context (none, 1 to 4): it names the token, too, or others only.
_AGREES = (0.0, 1.5, 1.4, 1.4, 1.5)
_AGREES_SLOPE = 0.36
_DISSENTS = (0.0, -0.45, -0.80, -0.90, -1.40)
# What only the n-gram table names, by state.
_ALONE = (-2.8, -1.8, -1.5)
_ALONE_SLOPE = (0.60, 0.72, 0.63)
_ALONE_LONGER = (0.0, 0.0, 0.45, 1.0, 1.05)


def _logit(chance: float) -> float:
    return math.log(chance / (1 - chance))


_LOGITS = tuple([_logit(min(0.97, max(1e-4, 2 ** (-weight / 16)))) for weight in range(256)])
"""Of an n-gram's probability, by its weight."""


def claim(rate: float, kind: int) -> float:
    """What the successor table's rate of a class of followers is worth, in logits."""
    return _CLAIM[kind] + _CLAIM_SLOPE[kind] * _logit(min(0.999, max(1e-4, rate)))


def blended(claims: Sequence[tuple[int, float]], state: int, found: Found) -> list[tuple[int, float]]:
    """The followers of both, each with its chance; those that were claimed come first.

    claims: followers and what `claim` says of them; state: what the successor table has here.
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
