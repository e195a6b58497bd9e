"""How much disk space pools may take, and what to evict when they exceed it. Pure.

The value of a stored reply or of a whole pool is the number of tokens accepted from it, halved every week, per byte. A
new item has had no chance yet, so for a grace period it counts as if a few tokens had been accepted; the newest items
always stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HALF_LIFE_MS = 7 * 86_400_000
GRACE_MS = 3 * 86_400_000
_GRACE_WORTH = 1 / 32
"""Value per byte credited to a new item, in tokens: as if an eighth of its own tokens had been accepted."""
_NEWEST_SHARE = 0.25
_TABLE_SHARE = 0.25
_TABLE_BYTES = 3_000_000


@dataclass(frozen=True, slots=True)
class Caps:
    """Size limits of the pools."""

    project_bytes: int = 64_000_000
    """Cap of one project; the pools of its other tokenizers are evicted first."""
    total_bytes: int = 1_000_000_000
    """Cap of all projects together; the pool in use is never evicted for it."""

    def log_bytes(self) -> int:
        """The log's share of the project's cap."""
        return self._own() - self.table_bytes()

    def table_bytes(self) -> int:
        """The successor table's share of it."""
        return min(_TABLE_BYTES, int(_TABLE_SHARE * self._own()))

    def _own(self) -> int:
        return max(0, min(self.project_bytes, self.total_bytes))


DEFAULT_CAPS = Caps()


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A stored reply or a pool, as a candidate for eviction."""

    byte_size: int
    value: float
    """Accepted tokens, decayed to now."""
    used_ms: int
    """When it was last given or used."""


def decayed(value: float, since_ms: int) -> float:
    """A count of accepted tokens after exponential decay over `since_ms`."""
    return value * 0.5 ** (max(0, since_ms) / HALF_LIFE_MS)


def choose(items: Sequence[StoredItem], room: int, now_ms: int) -> list[int]:
    """The indices of the items to keep, which together fit into `room` bytes."""
    newest_first = sorted(range(len(items)), key=lambda place: (items[place].used_ms, place), reverse=True)
    kept: list[int] = []
    reserved, left = int(room * _NEWEST_SHARE), room
    for place in newest_first:
        size = items[place].byte_size
        if size > left or (kept and size > reserved):
            break
        kept.append(place)
        left -= size
        reserved -= size
    # A stable sort: among equal values, the most recently used comes first.
    for place in sorted(newest_first[len(kept) :], key=lambda place: -_worth(items[place], now_ms)):
        if items[place].byte_size <= left:
            kept.append(place)
            left -= items[place].byte_size
    return sorted(kept)


def _worth(holding: StoredItem, now_ms: int) -> float:
    size = max(1, holding.byte_size)
    fresh = abs(now_ms - holding.used_ms) < GRACE_MS  # a time in the future means that the clock was set back
    return holding.value / size + (_GRACE_WORTH if fresh else 0.0)
