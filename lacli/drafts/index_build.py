"""The order of all positions of a stored text by what stands before them, sorted with numpy in a few passes.

Prefix doubling, three at a time: the first pass sorts by as many tokens as a machine word holds, each later one by the
ranks of three (or two) neighbouring runs, and only positions still tied are sorted again.
"""

from __future__ import annotations

import numpy as np

from lacli.drafts.index_keys import LONGEST_MATCH, SEPARATOR

_WORD = 64


def sorted_positions(backwards: np.ndarray) -> np.ndarray:
    """Places of the text, given last token first, ascending by key, those of equal keys by age.

    Only positions with a token before and a token after them count: position `p` of `n` tokens has its key at `n - p`.
    """
    count = len(backwards)
    if count < 2:
        return np.empty(0, np.uint32)
    order, rank, fresh, depth = _first_pass(backwards)
    # fresh: [count], whether a slot of the order begins another group of equals
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
    """Order, rank and group beginnings by as many tokens as fit in a word, and how many that are."""
    count = len(backwards)
    tokens = backwards[backwards != SEPARATOR]
    bits = (int(tokens.max(initial=0)) + 1).bit_length()
    run = min(_WORD // bits, LONGEST_MATCH)
    codes = np.full(count + run, (1 << bits) - 1, np.uint64)
    np.minimum(backwards, np.uint64((1 << bits) - 1), out=codes[:count])  # a gap stays the highest of all
    words = codes[:count].copy()
    for offset in range(1, run):
        words <<= np.uint64(bits)
        words |= codes[offset : offset + count]
    # Equals stand in the order of their positions from here on, as every sort is stable: the oldest first.
    order = count - 1 - _radix_order(words[::-1], run * bits)
    words = words[order]
    fresh = np.ones(count, bool)
    np.not_equal(words[1:], words[:-1], out=fresh[1:])
    rank = np.full(count + 1, count, np.uint32)  # past the end nothing follows: the highest of all, as a gap is
    rank[order] = _beginnings(fresh, np.arange(count, dtype=np.uint32))
    return order, rank, fresh, run


def _radix_order(words: np.ndarray, bits: int) -> np.ndarray:
    """A stable argsort, digit by digit: numpy counts numbers of 16 bits instead of comparing them."""
    order = np.argsort(words.astype(np.uint16), kind="stable")
    for shift in range(16, bits, 16):
        digits = (words >> np.uint64(shift)).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order


def _refine(order: np.ndarray, rank: np.ndarray, fresh: np.ndarray, tied: np.ndarray, depth: int) -> int:
    """Sort the tied slots by the ranks of the runs that follow, in place; gives the depth now sorted to."""
    count = len(order)
    bits = count.bit_length()
    runs = _WORD // bits
    offsets = order[tied]
    words = rank[offsets].astype(np.uint64)
    for step in range(1, runs):
        words <<= np.uint64(bits)
        # The last run overlaps the one before rather than reach further than a key does.
        words |= rank[np.minimum(offsets + min(step * depth, LONGEST_MATCH - depth), count)]
    inner = np.argsort(words, kind="stable")  # quick, as the groups are in order and small
    words = words[inner]
    order[tied] = offsets = offsets[inner]
    begins = np.ones(len(tied), bool)
    np.not_equal(words[1:], words[:-1], out=begins[1:])
    fresh[tied] = begins
    rank[offsets] = _beginnings(begins, tied.astype(np.uint32))
    return min(depth * runs, LONGEST_MATCH)


def _beginnings(fresh: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """For each slot the one its group of equals begins with."""
    return np.maximum.accumulate(np.where(fresh, slots, np.uint32(0)))
