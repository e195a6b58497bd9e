"""Sorts all positions of a stored text by the reversed text before them, with numpy, in a few passes.

Prefix tripling: the first pass sorts by as many tokens as fit into a machine word, each later pass by the ranks of
three (or two) consecutive runs; only positions that are still tied are sorted again.
"""

from __future__ import annotations

import numpy as np

from lacli.drafts.index_keys import LONGEST_MATCH, SEPARATOR

_WORD = 64


def sorted_positions(backwards: np.ndarray) -> np.ndarray:
    """Offsets into `backwards` (the text, last token first), ascending by key, equal keys by age.

    Only positions with a token before and after them are included. The key of position `p` of `n` tokens begins at
    `n - p`.
    """
    count = len(backwards)
    if count < 2:
        return np.empty(0, np.uint32)
    order, rank, fresh, depth = _first_pass(backwards)
    # fresh: [count], whether a slot begins a new group of equal keys
    while depth < LONGEST_MATCH:
        tied = np.flatnonzero(~(fresh & np.append(fresh[1:], True)))
        if not tied.size:
            break
        depth = _refine(order, rank, fresh, tied, depth)
    gaps = np.flatnonzero(backwards == SEPARATOR)
    useless = np.zeros(count + 1, bool)
    useless[0] = useless[gaps] = useless[gaps + 1] = True
    return (count - order[~useless[order]]).astype(np.uint32)


def _first_pass(backwards: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Order, ranks and group starts by as many tokens as fit into a word, and that number of tokens."""
    count = len(backwards)
    tokens = backwards[backwards != SEPARATOR]
    bits = (int(tokens.max(initial=0)) + 1).bit_length()
    run = min(_WORD // bits, LONGEST_MATCH)
    codes = np.full(count + run, (1 << bits) - 1, np.uint64)
    np.minimum(backwards, np.uint64((1 << bits) - 1), out=codes[:count])  # a gap stays the highest code
    words = codes[:count].copy()
    for offset in range(1, run):
        words <<= np.uint64(bits)
        words |= codes[offset : offset + count]
    # All sorts are stable, so from here on equal keys stay in the order of their positions, the oldest first.
    order = count - 1 - _radix_order(words[::-1], run * bits)
    words = words[order]
    fresh = np.ones(count, bool)
    np.not_equal(words[1:], words[:-1], out=fresh[1:])
    rank = np.full(count + 1, count, np.uint32)  # beyond the end: the highest rank, as for a gap
    rank[order] = _beginnings(fresh, np.arange(count, dtype=np.uint32))
    return order, rank, fresh, run


def _radix_order(words: np.ndarray, bits: int) -> np.ndarray:
    """Stable argsort by 16-bit digits, for which numpy uses a radix sort instead of comparisons."""
    order = np.argsort(words.astype(np.uint16), kind="stable")
    for shift in range(16, bits, 16):
        digits = (words >> np.uint64(shift)).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order


def _refine(order: np.ndarray, rank: np.ndarray, fresh: np.ndarray, tied: np.ndarray, depth: int) -> int:
    """Sort the tied slots in place by the ranks of the runs that follow; returns the new depth in tokens."""
    count = len(order)
    bits = count.bit_length()
    runs = _WORD // bits
    offsets = order[tied]
    words = rank[offsets].astype(np.uint64)
    for step in range(1, runs):
        words <<= np.uint64(bits)
        # The last run overlaps the one before, so as not to reach beyond the length of a key.
        words |= rank[np.minimum(offsets + min(step * depth, LONGEST_MATCH - depth), count)]
    inner = np.argsort(words, kind="stable")  # fast: the groups are small and already in order
    words = words[inner]
    order[tied] = offsets = offsets[inner]
    begins = np.ones(len(tied), bool)
    np.not_equal(words[1:], words[:-1], out=begins[1:])
    fresh[tied] = begins
    rank[offsets] = _beginnings(begins, tied.astype(np.uint32))
    return min(depth * runs, LONGEST_MATCH)


def _beginnings(fresh: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """For each slot the first slot of its group of equal keys."""
    return np.maximum.accumulate(np.where(fresh, slots, np.uint32(0)))
