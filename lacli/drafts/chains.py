"""Drafts from an index: what followed earlier occurrences of the context's suffix, with calibrated probabilities.

No torch, no files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lacli.drafts.base import Draft
from lacli.drafts.calibration import Calibration
from lacli.drafts.index import Match, SuffixIndex

_DRAFTS = 4

_LENGTHS = (0, 0, 1, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5)  # match length -> class; 16 and more: class 6
_FIRST = (0.15, 0.30, 0.42, 0.55, 0.68, 0.80, 0.92)
_LATER = (0.50, 0.60, 0.68, 0.75, 0.84, 0.91, 0.96)
_SHARES = (1.0, 0.75, 0.30)  # share of a continuation: the only one seen, the most frequent one, a rarer one


def new_calibration(trust: float = 1.0) -> Calibration:
    """Priors for drafts made by `drafts_from`: 7 classes of match length by 3 of share."""
    return Calibration(
        [trust * first * share for first in _FIRST for share in _SHARES], [later for later in _LATER for _ in _SHARES]
    )


def drafts_from(
    index: SuffixIndex, context: Sequence[int], room: int, calibration: Calibration, source: str
) -> list[Draft]:
    """Drafts of what followed earlier occurrences of the context's suffix: longest match first, then most frequent."""
    matches = index.matches(context)
    seen: set[tuple[int, ...]] = set()
    runs: list[tuple[Match, tuple[int, ...]]] = []
    firsts: Counter[int] = Counter()
    for match in matches:
        if len(runs) >= _DRAFTS and match.length < matches[0].length:
            break
        # As long as there is room: the probabilities tell how far a chain is worth verifying.
        run = index.following(match.position, room)
        if run and match.length == matches[0].length:
            firsts[run[0]] += match.seen
        if run and run[:4] not in seen:
            seen.add(run[:4])
            runs.append((match, run))
    drafts = []
    for match, run in runs[:_DRAFTS]:
        share = firsts[run[0]] / firsts.total()
        share_class = 0 if share == 1.0 else 1 if share >= 0.5 else 2
        key = 3 * (_LENGTHS[match.length] if match.length < 16 else 6) + share_class
        drafts.append(Draft(run, calibration.chances(key, len(run)), source, key, position=match.position))
    return drafts
