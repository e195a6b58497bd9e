"""The few shapes a step comes in, so that each is captured once as a CUDA graph and tuned once. No torch."""

from __future__ import annotations

from collections.abc import Sequence

ROWS = (1, 2, 4, 8, 16, 32, 64)
"""Rows of a step; what is missing is filled with rows that nobody sees."""
FEWEST_SLOTS = 512
"""KV slots a step reads at least; twice as many in each further bucket."""
_UNIT = 64
"""The last bucket, which ends where the context does, is a multiple of this: masks are read in whole vectors."""


def bucket_of(count: int, buckets: Sequence[int] = ROWS) -> int:
    """The smallest of `buckets` (ascending) that holds `count`; the last one where none does."""
    return next((bucket for bucket in buckets if bucket >= count), buckets[-1])


def slot_buckets(most: int) -> tuple[int, ...]:
    """KV buckets up to one that holds `most` slots."""
    last = -(-most // _UNIT) * _UNIT
    found = []
    size = FEWEST_SLOTS
    while size < last:
        found.append(size)
        size *= 2
    return (*found, last)
