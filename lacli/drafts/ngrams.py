"""A static n-gram table: the most frequent followers of contexts of one to four tokens in a corpus.

Built once per tokenizer (`ngram_counts`), immutable, and memory-mapped: opening it reads the header and the starts, a
lookup touches two or three pages. Damage behind the starts can only make guesses wrong. Nothing is learned here; that
is the successor table's job.

    header     magic, version, number n of contexts, CRC-32 of these numbers and of the starts
    starts     uint32 [2^16 + 1]: index of the first context whose key begins with these 16 bits
    keys       uint64 [n], ascending: hashes of contexts (`extended`)
    followers  uint32 [n, 4], likeliest first, padded with NO_TOKEN
    weights    uint8 [n, 4]: -16 log2 of the probability
"""

from __future__ import annotations

import mmap
import struct
import zlib
from bisect import bisect_left
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lacli.drafts.base import NO_TOKEN, Found

ORDERS = 4
"""Length of the longest contexts, in tokens."""
FOLLOWERS = 4

_MAGIC, _VERSION = b"lacli-ng", 1
_HEADER = struct.Struct("<8sIII4x")
_BITS = 16
_STARTS = (1 << _BITS) + 1
_PADDING = 4  # aligns the keys to 8 bytes
_KEYS_AT = _HEADER.size + 4 * _STARTS + _PADDING
CONTEXT_BYTES = 8 + 4 * FOLLOWERS + FOLLOWERS
_FACTOR, _MASK, _SHIFT = 0x9E3779B97F4A7C15, 0xFFFFFFFFFFFFFFFF, 29
_MOST_KNOWN = 1 << 14

NOTHING: Found = (0, (), ())


class Ngrams:
    """An open table; implements `StaticFollowers`."""

    def __init__(self, data: memoryview) -> None:
        """data: as made by `encode`."""
        count = _HEADER.unpack_from(data)[2]
        self._starts = data[_HEADER.size : _HEADER.size + 4 * _STARTS].cast("I")
        at = _KEYS_AT + 8 * count
        self._keys = data[_KEYS_AT:at].cast("Q")
        self._followers = data[at : at + 4 * FOLLOWERS * count].cast("I")
        at += 4 * FOLLOWERS * count
        self._weights = data[at : at + FOLLOWERS * count]
        self._known: dict[tuple[int, ...], Found] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, tail: tuple[int, ...]) -> Found:
        """See `StaticFollowers.find`."""
        found = self._known.get(tail)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[tail] = self._look_up(tail)
        return found

    def _look_up(self, tail: tuple[int, ...]) -> Found:
        key, hashes = 0, []
        for token_id in tail[: -ORDERS - 1 : -1]:
            key = ((key ^ token_id) * _FACTOR) & _MASK
            key ^= key >> _SHIFT
            hashes.append(key)
        keys, starts = self._keys, self._starts
        for order in range(len(hashes), 0, -1):
            key = hashes[order - 1]
            bucket = key >> (64 - _BITS)
            at = bisect_left(keys, key, starts[bucket], starts[bucket + 1])
            if at < len(keys) and keys[at] == key:
                ids = self._followers[FOLLOWERS * at : FOLLOWERS * (at + 1)].tolist()
                count = ids.index(NO_TOKEN) if NO_TOKEN in ids else FOLLOWERS
                weights = self._weights[FOLLOWERS * at : FOLLOWERS * at + count]
                return order, tuple(ids[:count]), tuple(weights)
        return NOTHING


def extended(keys: NDArray[np.uint64], token_ids: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """The keys of contexts extended by one preceding token each; from keys of 0, those of single tokens.

    Contexts are hashed from the last token to the first, so that one pass yields the keys of all lengths.
    """
    mixed = (keys ^ token_ids.astype(np.uint64)) * np.uint64(_FACTOR)
    return mixed ^ (mixed >> np.uint64(_SHIFT))


def encode(keys: NDArray[np.uint64], followers: NDArray[np.uint32], weights: NDArray[np.uint8]) -> bytes:
    """The bytes of a table file. keys: [n], ascending; followers, weights: [n, 4]."""
    first = np.arange(_STARTS, dtype=np.uint64)[:-1] << np.uint64(64 - _BITS)
    starts = np.append(np.searchsorted(keys, first), len(keys)).astype("<u4")
    head = _MAGIC, _VERSION, len(keys)
    parts = [
        _HEADER.pack(*head, _check(head, starts.tobytes())),
        starts.tobytes(),
        bytes(_PADDING),
        keys.astype("<u8").tobytes(),
        followers.astype("<u4").tobytes(),
        weights.astype(np.uint8).tobytes(),
    ]
    return b"".join(parts)


def empty() -> bytes:
    """The bytes of a table without contexts."""
    return encode(np.empty(0, np.uint64), np.empty((0, FOLLOWERS), np.uint32), np.empty((0, FOLLOWERS), np.uint8))


def read(path: Path) -> Ngrams | None:
    """Map a table file; None if it is missing, damaged, or of another version."""
    try:
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return None
    return Ngrams(data) if _is_whole(data) else None


def _is_whole(data: memoryview) -> bool:
    if len(data) < _KEYS_AT:
        return False
    magic, version, count, check = _HEADER.unpack_from(data)
    head = magic, version, count
    right = head == (_MAGIC, _VERSION, count) and len(data) == _KEYS_AT + count * CONTEXT_BYTES
    return right and check == _check(head, data[_HEADER.size : _HEADER.size + 4 * _STARTS])


def _check(head: tuple[bytes, int, int], starts: bytes | memoryview) -> int:
    return zlib.crc32(starts, zlib.crc32(repr(head).encode()))
