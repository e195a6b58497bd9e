"""How positions in a text are ordered, so that those which share most with a context stand side by side.

The *key* of a position is what stands before it, read backwards, as big-endian bytes, four a token: comparing keys
compares contexts from their last token on, by C's `memcmp`. In a sorted sequence of keys the longest matches of a
context are the neighbours of where it would be put, the next shorter ones their neighbours, and so on. No numpy, no
tokens of its own.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol

LONGEST_MATCH = 32
"""Tokens of context a key holds: a match is not followed further back."""
SEPARATOR = 2**32 - 1
"""Between segments; no token has this id, so no match crosses it."""

TOKEN_BYTES = 4
KEY_BYTES = TOKEN_BYTES * LONGEST_MATCH
GAP = b"\xff" * TOKEN_BYTES
EMPTY_KEY = GAP * LONGEST_MATCH
"""The key of a segment's first position."""
_ABOVE = GAP * (LONGEST_MATCH + 2)  # longer than any key, hence after every key that goes on with gaps

ENOUGH = 8
"""Places after which shorter matches are no longer looked for."""
LEVELS = 3
"""Lengths of match looked for at most."""

Span = tuple[int, int, int]
"""(number of the sequence of keys, first, one after the last) of keys whose matches are equally long"""


class Keys(Protocol):
    """Ascending keys, of which each may have something behind it."""

    def __len__(self) -> int: ...

    def __getitem__(self, slot: int, /) -> bytes: ...


def key_of(context: Sequence[int]) -> tuple[bytes, int]:
    """The key of the position after `context`, and of how many tokens it is made; odd ids end it."""
    tail = context[-LONGEST_MATCH:]
    try:
        key = struct.pack(f">{len(tail)}I", *reversed(tail))
        odd = GAP in key
    except struct.error:
        odd = True
    if odd:
        usable: list[int] = []
        for token_id in reversed(tail):
            if not 0 <= token_id < SEPARATOR:
                break
            usable.append(token_id)
        key = struct.pack(f">{len(usable)}I", *usable)
    return key.ljust(KEY_BYTES, b"\xff"), len(key) // TOKEN_BYTES


def nearest(sequences: Sequence[Keys], context: Sequence[int], shortest: int) -> list[tuple[int, list[Span]]]:
    """Spans of the keys that share most with the context's end, by length of match, the longest first.

    Every sequence is ascending. Lengths are looked for until `ENOUGH` positions are found, and none under `shortest`.
    """
    wanted, most = key_of(context)
    found: dict[int, list[Span]] = {}
    for number, keys in enumerate(sequences):
        _collect(found, number, keys, wanted, most, shortest)
    levels, positions = [], 0
    for length in sorted(found, reverse=True)[:LEVELS]:
        levels.append((length, found[length]))
        positions += sum(high - low for _, low, high in found[length])
        if positions >= ENOUGH:
            break
    return levels


def _collect(found: dict[int, list[Span]], number: int, keys: Keys, wanted: bytes, most: int, shortest: int) -> None:
    """Add to `found` what one sequence has; walks outwards from where `wanted` would be put."""
    low = high = bisect_left(keys, wanted)
    count, code = len(keys), int.from_bytes(wanted)
    left = min(most, _shared(keys[low - 1], code)) if low else 0
    right = min(most, _shared(keys[high], code)) if high < count else 0
    for _ in range(LEVELS):
        length = left if left > right else right
        if length < shortest or high - low >= ENOUGH:
            return
        spans = found.setdefault(length, [])
        prefix = wanted[: TOKEN_BYTES * length]
        if left == length:
            first = _first_with(keys, prefix, low - 1)
            spans.append((number, first, low))
            low = first
            left = _shared(keys[low - 1], code) if low else 0
        if right == length:
            end = _end_of(keys, prefix, high)
            spans.append((number, high, end))
            high = end
            right = _shared(keys[high], code) if high < count else 0


def _shared(key: bytes, code: int) -> int:
    """How many leading tokens a key has in common with another, given as one number."""
    return LONGEST_MATCH - ((int.from_bytes(key[:KEY_BYTES]) ^ code).bit_length() + 31) // 32


def _first_with(keys: Keys, prefix: bytes, known: int) -> int:
    """The first of the keys that begin with `prefix`, of which `known` is one."""
    step = 1  # strides that double: a span is nearly always a few keys, among a million
    while step <= known and keys[known - step].startswith(prefix):
        step *= 2
    return known if step == 1 else bisect_left(keys, prefix, max(0, known - step + 1), known - step // 2)


def _end_of(keys: Keys, prefix: bytes, known: int) -> int:
    """One after the last of the keys that begin with `prefix`, of which `known` is one."""
    step, count = 1, len(keys)
    while known + step < count and keys[known + step].startswith(prefix):
        step *= 2
    if step == 1:
        return known + 1
    return bisect_left(keys, prefix + _ABOVE, known + step // 2 + 1, min(count, known + step))
