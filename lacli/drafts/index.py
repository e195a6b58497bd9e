"""Where a run of tokens was seen before: two indexes with one face.

`LiveIndex` grows token by token (a reply, a session); `StoredIndex` is built once from a pool's segments with numpy.
Both are keyed by the last four, two and (live only) one tokens and extend a match backwards as far as it goes.
Continuations are read at positions, so their length is free (research/ngram.md §2.1). No torch, no files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

LONGEST_MATCH = 24
SEPARATOR = -1
_CANDIDATES = 12  # most recent positions looked at for each key

Match = tuple[int, int]
"""(length of the match, position of the token that followed it)"""


class SuffixIndex(Protocol):
    """Earlier places where the end of a context occurs."""

    def matches(self, context: Sequence[int]) -> list[Match]:
        """Matches of the context's end, any order, at most a few dozen."""
        ...

    def following(self, position: int, count: int) -> tuple[int, ...]:
        """Up to `count` tokens from `position` on, within their segment."""
        ...


class LiveIndex:
    """Index over text that grows."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._places: dict[tuple[int, ...], list[int]] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def extend(self, token_ids: Iterable[int]) -> None:
        """Append to the current segment."""
        tokens, places = self._tokens, self._places
        for token_id in token_ids:
            tokens.append(token_id)
            here = len(tokens)
            for size in (1, 2, 4):
                key = tuple(tokens[-size:])
                if len(key) < size or SEPARATOR in key:
                    continue
                known = places.get(key)
                if known is None:
                    places[key] = [here]
                else:
                    known.append(here)
                    if len(known) > 4 * _CANDIDATES:
                        del known[: 3 * _CANDIDATES]

    def close_segment(self) -> None:
        """No match and no continuation crosses this point."""
        if self._tokens and self._tokens[-1] != SEPARATOR:
            self._tokens.append(SEPARATOR)

    def matches(self, context: Sequence[int]) -> list[Match]:
        """See `SuffixIndex.matches`."""
        end = len(self._tokens)
        for size in (4, 2, 1):
            places = self._places.get(tuple(context[-size:])) if len(context) >= size else None
            recent = places[-_CANDIDATES:] if places else []
            found = [place for place in recent if place < end and self._tokens[place] != SEPARATOR]
            if found:
                return [(_match_length(self._tokens, place, context, size), place) for place in found]
        return []

    def following(self, position: int, count: int) -> tuple[int, ...]:
        """See `SuffixIndex.following`."""
        run = self._tokens[position : position + count]
        return tuple(run[: run.index(SEPARATOR)] if SEPARATOR in run else run)


class StoredIndex:
    """Index over segments that do not change."""

    def __init__(self, segments: Iterable[Sequence[int] | np.ndarray]) -> None:
        gap = np.array([SEPARATOR], dtype=np.int64)
        parts = [part for segment in segments for part in (np.asarray(segment, dtype=np.int64), gap)]
        self._tokens = np.concatenate(parts) if parts else gap
        self._keys: dict[int, tuple[np.ndarray, np.ndarray]] = {size: self._sorted_keys(size) for size in (4, 2)}

    def __len__(self) -> int:
        return len(self._tokens)

    def _sorted_keys(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Hashes of all runs of `size` tokens, ascending, and the positions behind them, oldest first within a hash."""
        count = len(self._tokens) - size
        if count <= 0:
            return np.empty(0, np.uint64), np.empty(0, np.int64)
        hashes = _hashes([self._tokens[offset : offset + count] for offset in range(size)])
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order + size

    def matches(self, context: Sequence[int]) -> list[Match]:
        """See `SuffixIndex.matches`."""
        for size, (hashes, positions) in self._keys.items():
            if len(context) < size:
                continue
            tail = context[-size:]
            wanted = _hashes([np.array([token_id], dtype=np.int64) for token_id in tail])
            low, high = np.searchsorted(hashes, wanted[0], "left"), np.searchsorted(hashes, wanted[0], "right")
            found = []
            for place in positions[max(low, high - _CANDIDATES) : high].tolist():
                # A hash may collide: believed only after the tokens are compared.
                if self._tokens[place - size : place].tolist() == list(tail) and self._tokens[place] != SEPARATOR:
                    window = self._tokens[max(0, place - LONGEST_MATCH) : place].tolist()
                    found.append((_match_length(window, len(window), context, size), place))
            if found:
                return found
        return []

    def following(self, position: int, count: int) -> tuple[int, ...]:
        """See `SuffixIndex.following`."""
        run = self._tokens[position : position + count].tolist()
        return tuple(run[: run.index(SEPARATOR)] if SEPARATOR in run else run)


def _hashes(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Polynomial hash, modulo 2^64, of the tokens standing side by side in `columns`."""
    result = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        result = result * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
    return result


def _match_length(tokens: Sequence[int], place: int, context: Sequence[int], known: int) -> int:
    """How many tokens before `place` equal the end of `context`; the first `known` are known to."""
    most = min(place, len(context), LONGEST_MATCH)
    length = known
    while length < most and tokens[place - 1 - length] == context[-1 - length]:
        length += 1
    return length
