"""What one reply teaches a pool, in one record, so that it is stored or dropped as a whole. Data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NO_TOKEN = 0xFFFFFFFF
"""Stands for "any token before" in `TableRows.keys`, and fills entries of fewer followers."""


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """Entries of the successor table: for each key the likeliest next tokens when the model last ran on it."""

    keys: NDArray[np.uint32]
    """[n, 2]: the token before (or NO_TOKEN) and the token."""
    followers: NDArray[np.uint32]
    """[n, 8]: token ids, likeliest first."""
    weights: NDArray[np.uint8]
    """[n, 8]: chance of each follower as -16 log2, at most 255."""


@dataclass(frozen=True, slots=True)
class PoolUpdate:
    """What one reply adds to the pool."""

    token_ids: Sequence[int]
    """The ids delivered."""
    text: str = ""
    """Their text, preceded by the line that they continue; only scanned for secrets."""
    prompt_text: str = ""
    """The text of the request; only scanned for secrets, never stored."""
    credits: Mapping[int, int] = field(default_factory=dict)
    """Tokens accepted from each stored segment, by its place in `Pool.segments()` as they were first read."""
    table: TableRows | None = None
    """Entries of the successor table that this reply made or changed."""
    calibration: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Learned numbers of each source as they are now, by a name that says which and of what shape."""
    totals: Mapping[str, float] = field(default_factory=dict)
    """Counters this reply adds to: tokens, steps, milliseconds, accepted tokens by source."""
