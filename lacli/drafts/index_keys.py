"""The sort order of positions in a text, in which positions with a long common suffix are neighbours.

The *key* of a position is the text before it, reversed, as big-endian bytes, four per token, so that comparing keys
with `memcmp` compares contexts from their last token backwards. In a sorted sequence of keys the longest matches of a
context are the neighbours of its insertion point, the next shorter ones their neighbours, and so on. No numpy; stores
no tokens itself.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol

LONGEST_MATCH = 32
"""Tokens in a key, and so the longest match that is distinguished."""
SEPARATOR = 2**32 - 1
"""Stands between segments; no token has this id, so no match crosses it."""

TOKEN_BYTES = 4
KEY_BYTES = TOKEN_BYTES * LONGEST_MATCH
GAP = b"\xff" * TOKEN_BYTES
EMPTY_KEY = GAP * LONGEST_MATCH
"""The key of a segment's first position."""
_ABOVE = GAP * (LONGEST_MATCH + 2)  # longer than any key, so it sorts after every key that ends in gaps

ENOUGH = 8
"""Positions after which shorter matches are no longer searched."""
LEVELS = 3
"""Most match lengths that are searched."""

Span = tuple[int, int, int]
"""(index of the key sequence, first slot, one past the last slot) of keys with one match length."""


class Keys(Protocol):
    """A sequence of ascending keys, each of which may have further bytes after it."""

    def __len__(self) -> int: ...

    def __getitem__(self, slot: int, /) -> bytes: ...


def key_of(context: Sequence[int]) -> tuple[bytes, int]:
    """The key of the position after `context`, and the number of tokens in it; an invalid id ends it."""
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
    """Spans of the keys that match the context's suffix, by match length, longest first.

    Each sequence is ascending. Searches lengths until `ENOUGH` positions are found, none below `shortest`.
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
    """Add the spans of one sequence to `found`, walking outwards from the insertion point of `wanted`."""
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
    """Length in tokens of the common prefix of a key with another key, which is given as an integer."""
    return LONGEST_MATCH - ((int.from_bytes(key[:KEY_BYTES]) ^ code).bit_length() + 31) // 32


def _first_with(keys: Keys, prefix: bytes, known: int) -> int:
    """The first slot whose key begins with `prefix`; slot `known` is one of them."""
    step = 1  # galloping search: a span is nearly always a few keys out of a million
    while step <= known and keys[known - step].startswith(prefix):
        step *= 2
    return known if step == 1 else bisect_left(keys, prefix, max(0, known - step + 1), known - step // 2)


def _end_of(keys: Keys, prefix: bytes, known: int) -> int:
    """One past the last slot whose key begins with `prefix`; slot `known` is one of them."""
    step, count = 1, len(keys)
    while known + step < count and keys[known + step].startswith(prefix):
        step *= 2
    if step == 1:
        return known + 1
    return bisect_left(keys, prefix + _ABOVE, known + step // 2 + 1, min(count, known + step))
