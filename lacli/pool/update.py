"""What one reply adds to a pool, as one record, stored or dropped as a whole. Data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NO_TOKEN = 0xFFFFFFFF
"""In `TableRows.keys`: any preceding token; in `followers`: padding."""


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """Entries of the successor table: for each key the model's top next tokens when it last saw the key."""

    keys: NDArray[np.uint32]
    """[n, 2]: the preceding token (or NO_TOKEN) and the token."""
    followers: NDArray[np.uint32]
    """[n, 8]: token ids, likeliest first."""
    weights: NDArray[np.uint8]
    """[n, 8]: -16 log2 of each follower's probability, at most 255."""


@dataclass(frozen=True, slots=True)
class PoolUpdate:
    """What one reply adds to the pool."""

    token_ids: Sequence[int]
    """The ids of the delivered tokens."""
    text: str = ""
    """Their text, preceded by the rest of the line that it continues; only scanned for secrets."""
    prompt_text: str = ""
    """The text of the request; only scanned for secrets, never stored."""
    credits: Mapping[int, int] = field(default_factory=dict)
    """Tokens accepted from stored segments, by index into `Pool.segments()` as of opening."""
    table: TableRows | None = None
    """Entries of the successor table that this reply added or changed."""
    calibration: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Current calibration of each source, by a name that identifies source and shape."""
    totals: Mapping[str, float] = field(default_factory=dict)
    """Increments of the project's counters: tokens, steps, milliseconds, accepted tokens by source."""
