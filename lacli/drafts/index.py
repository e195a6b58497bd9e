"""Suffix indexes: earlier positions at which the end of a context occurs. Two of them with one interface.

`LiveIndex` grows token by token (a reply, a session); `StoredIndex` is built once from immutable segments. Both keep
their positions sorted by the reversed text before them (`index_keys`), so the longest match is found however much else
is stored, and a continuation is read from its position, at any length (research/ngram.md §2.1). No shared state: an
index may be built in one thread and used in another. No torch, no files.
"""

from __future__ import annotations

import struct
from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from lacli.drafts.index_build import sorted_positions
from lacli.drafts.index_keys import (
    EMPTY_KEY,
    GAP,
    KEY_BYTES,
    SEPARATOR,
    TOKEN_BYTES,
    Span,
    nearest,
)

HEAD = 4
"""Continuations count as equal if their first so many tokens are."""
LOOKED_AT = 32
"""Positions of one match length that are looked at; of more, an evenly spread sample of this size."""
KINDS = 8
"""Most continuations returned for one match length."""

_MOST = 1 << 17  # tokens in a live index: about 25 MB
_FEW = 32  # up to so many keys are inserted one by one; more are sorted together
_RECENT = 1 << 14  # size up to which insertion into a list is cheap


class Match(NamedTuple):
    """One continuation, among the positions with one match length."""

    length: int
    """How many of the context's last tokens precede these positions, exactly; 32 means 32 or more."""
    position: int
    """Where to read it with `following`: the newest position with this continuation."""
    seen: int
    """How many of the positions continue like this (comparing the first `HEAD` tokens)."""
    of: int
    """How many positions of this length were looked at: all of them up to `LOOKED_AT`, else a sample."""


class SuffixIndex(Protocol):
    """Finds earlier positions at which the suffix of a context occurs."""

    def matches(self, context: Sequence[int]) -> list[Match]:
        """The continuations of the longest matches with the context's suffix.

        The longest match comes first, followed by the next shorter lengths that occur, for back-off, until
        `index_keys.ENOUGH` positions or `LEVELS` lengths are found. A position counts once, at its own length; for the
        counts of a shorter context add those of the longer ones. Within a length the most frequent continuation comes
        first, the newest one on a tie; at most `KINDS` of them.
        """
        ...

    def following(self, position: int, count: int) -> tuple[int, ...]:
        """Up to `count` tokens from `position` on, within its segment."""
        ...


class LiveIndex:
    """Index over growing text; drops its older half when it holds `_MOST` tokens."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._dropped = 0  # tokens dropped so far; positions still count them
        self._key = EMPTY_KEY  # key of the next token's position
        # Ascending keys, each followed by its position, so that of equal keys the oldest comes first. Recent ones are
        # kept in a small list of their own.
        self._settled: list[bytes] = []
        self._recent: list[bytes] = []

    def __len__(self) -> int:
        return len(self._tokens)

    def extend(self, token_ids: Iterable[int]) -> None:
        """Append to the current segment; an invalid token id ends it."""
        tokens, key, position, keys = self._tokens, self._key, self._dropped + len(self._tokens), []
        for token_id in token_ids:
            if not 0 <= token_id < SEPARATOR:
                token_id, key = SEPARATOR, EMPTY_KEY
            else:
                if key is not EMPTY_KEY:
                    keys.append(key + position.to_bytes(TOKEN_BYTES))
                key = token_id.to_bytes(TOKEN_BYTES) + key[:-TOKEN_BYTES]
            tokens.append(token_id)
            position += 1
        self._key = key
        self._insert(keys)
        if len(tokens) > _MOST:
            self._forget()

    def _insert(self, keys: list[bytes]) -> None:
        if len(keys) > _FEW:
            self._recent += keys
            self._recent.sort()
        else:
            for key in keys:
                insort(self._recent, key)
        if len(self._recent) > _RECENT:
            self._settled += self._recent
            self._settled.sort()  # two sorted runs, which Python's sort merges
            self._recent = []

    def _forget(self) -> None:
        """Drop the older half."""
        drop = len(self._tokens) - _MOST // 2
        del self._tokens[:drop]
        self._dropped += drop
        first = self._dropped.to_bytes(TOKEN_BYTES)
        self._settled = [key for key in self._settled if key[KEY_BYTES:] >= first]
        self._recent = [key for key in self._recent if key[KEY_BYTES:] >= first]

    def close_segment(self) -> None:
        """End the segment: no match and no continuation crosses this point."""
        if self._tokens and self._tokens[-1] != SEPARATOR:
            self._tokens.append(SEPARATOR)
            self._key = EMPTY_KEY

    def matches(self, context: Sequence[int]) -> list[Match]:
        """See `SuffixIndex.matches`."""
        found: list[Match] = []
        lists = (self._settled, self._recent)
        for length, spans in nearest(lists, context, shortest=1):
            keys = [lists[number][slot] for number, slots in _spread(spans) for slot in slots]
            positions = sorted([int.from_bytes(key[KEY_BYTES:]) for key in keys])
            heads = [self.following(position, HEAD) for position in positions] if len(positions) > 1 else positions
            found += _kinds(length, positions, heads)
        return found

    def following(self, position: int, count: int) -> tuple[int, ...]:
        """See `SuffixIndex.following`."""
        start = position - self._dropped
        run = self._tokens[start : start + count]
        return tuple(run[: run.index(SEPARATOR)] if SEPARATOR in run else run)


class StoredIndex:
    """Index over immutable segments. A position is a token's number in their concatenation, with one gap after each."""

    def __init__(self, segments: Iterable[Sequence[int] | np.ndarray]) -> None:
        gap = np.array([SEPARATOR], np.uint32)
        parts, starts, count = [gap[:0]], [], 0
        for segment in segments:
            parts += [np.asarray(segment, np.uint32), gap]
            starts.append(count)
            count += len(segment) + 1
        backwards = np.concatenate(parts)[::-1].copy()
        self._segments = starts
        self._count = count
        self._text = GAP * HEAD + backwards.astype(">u4").tobytes() + EMPTY_KEY
        self._end = TOKEN_BYTES * (HEAD + count)
        # Byte offset of each key in the reversed text; the tokens after its position end there.
        self._offsets = memoryview((self._end - TOKEN_BYTES * sorted_positions(backwards)).astype(np.uint32).data)
        self._keys = (_StoredKeys(self._text, self._offsets),)

    def __len__(self) -> int:
        return self._count

    def segment_of(self, position: int) -> int:
        """The index, in the order given, of the segment that contains this position."""
        return bisect_right(self._segments, position) - 1

    def matches(self, context: Sequence[int]) -> list[Match]:
        """See `SuffixIndex.matches`; without matches of a single token, which mean little in a large text."""
        found: list[Match] = []
        for length, spans in nearest(self._keys, context, shortest=2):
            offsets = sorted([self._offsets[slot] for _, slots in _spread(spans) for slot in slots], reverse=True)
            positions = [(self._end - offset) // TOKEN_BYTES for offset in offsets]
            found += _kinds(length, positions, self._heads(offsets) if len(offsets) > 1 else positions)
        return found

    def following(self, position: int, count: int) -> tuple[int, ...]:
        """See `SuffixIndex.following`."""
        run = self._backwards(self._end - TOKEN_BYTES * position, count)
        return struct.unpack(f">{len(run) // TOKEN_BYTES}I", run)[::-1]

    def _heads(self, offsets: Sequence[int]) -> list[bytes]:
        """The first `HEAD` tokens of the continuations at these offsets, as bytes."""
        size = TOKEN_BYTES * HEAD
        heads = [self._text[offset - size : offset] for offset in offsets]
        if GAP in b"".join(heads):
            heads = [self._backwards(offset, HEAD) for offset in offsets]
        return heads

    def _backwards(self, offset: int, count: int) -> bytes:
        """The bytes of the `count` tokens that follow, as stored: last token first."""
        run = self._text[max(0, offset - TOKEN_BYTES * count) : offset]
        gap = run.rfind(GAP)
        while gap % TOKEN_BYTES and gap > 0:  # not a gap, but the bytes across two tokens
            gap = run.rfind(GAP, 0, gap + TOKEN_BYTES - 1)
        return run if gap < 0 else run[gap + TOKEN_BYTES :]


class _StoredKeys:
    """The sorted keys of a stored text, sliced from it on access."""

    def __init__(self, text: bytes, offsets: memoryview) -> None:
        self._text = text
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._offsets)

    def __getitem__(self, slot: int) -> bytes:
        offset = self._offsets[slot]
        return self._text[offset : offset + KEY_BYTES]


def _spread(spans: Sequence[Span]) -> list[tuple[int, range]]:
    """The slots to look at: all of them, or an evenly spaced sample that includes the last one."""
    step = -(-sum([high - low for _, low, high in spans]) // LOOKED_AT)
    return [(number, range(high - 1, low - 1, -step)) for number, low, high in spans]


def _kinds(length: int, positions: Sequence[int], heads: Sequence[Hashable]) -> list[Match]:
    """The matches of one length: `positions`, oldest first, grouped by their continuations `heads`."""
    newest = dict(zip(heads, positions, strict=True))
    of = len(positions)
    if len(newest) == 1:
        return [Match(length, positions[-1], of, of)]
    if len(newest) == of:
        return [Match(length, position, 1, of) for position in positions[: -KINDS - 1 : -1]]
    seen = dict.fromkeys(newest, 0)
    for head in heads:
        seen[head] += 1
    best = sorted(zip(seen.values(), newest.values(), strict=True), reverse=True)
    return [Match(length, position, count, of) for count, position in best[:KINDS]]
