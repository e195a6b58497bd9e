"""Counts the n-grams of a text and chooses those worth keeping: makes what `ngrams` reads. Pure, and deterministic.

Contexts are valued by the bits they save: the count of each follower times how much likelier it is than behind the
context without its first token (after Stolcke's pruning, cmp-lg/0006025). Contexts of one length are counted in parts,
by the first bits of their keys, to bound the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacli.drafts.base import NO_TOKEN
from lacli.drafts.ngrams import CONTEXT_BYTES, FOLLOWERS, ORDERS, encode, extended

BUDGET = 5_000_000
"""Bytes of a table."""
_PART_BITS = 4
_CHUNK = 1 << 18
"""Places whose keys are in memory at once where only a part of each is wanted."""
_DISCOUNT = 0.6  # of a count: what was seen once or twice is rarer than that
_LEAST = 2  # a follower seen once may be chance
_RARE = 1e-4  # of a follower that was not seen behind the shorter context

_Keys = NDArray[np.uint64]
_Ids = NDArray[np.uint32]


_Chances = tuple[_Keys, NDArray[np.float32]]
"""Keys of contexts with each token seen behind them, ascending, and its chance there."""


class _Contexts(NamedTuple):
    """Contexts that are worth something."""

    keys: _Keys
    followers: _Ids
    """[n, 4], likeliest first."""
    weights: NDArray[np.uint8]
    worth: NDArray[np.float64]


def build(texts: Sequence[_Ids], budget: int = BUDGET) -> bytes:
    """The file of a table of these tokenised texts, of not much more than `budget` bytes."""
    token_ids = np.concatenate([*texts, np.empty(0, np.uint32)]).astype(np.uint32)
    ends = np.cumsum([len(text) for text in texts])
    found: list[_Contexts] = []
    shorter: _Chances | None = None
    for order in range(1, ORDERS + 1):
        places = _places(len(token_ids), ends, order)
        part_of = _parts(token_ids, places, order)
        parts: list[_Chances] = []
        for part in range(1 << _PART_BITS):
            contexts, chances = _count(token_ids, places[part_of == part], order, shorter)
            found.append(contexts)
            if order < ORDERS:  # nothing is longer than the longest
                parts.append(chances)
        shorter = _joined(parts) if parts else None
    keys, followers, weights, worth = map(np.concatenate, zip(*found, strict=True))
    best = np.argsort(-worth, kind="stable")[: budget // CONTEXT_BYTES]
    best = best[np.argsort(keys[best])]
    return encode(keys[best], followers[best], weights[best])


def _joined(parts: list[_Chances]) -> _Chances:
    """All parts in one, sorted by key. Empties `parts`: two copies of them would be the peak of the memory used."""
    pairs = np.concatenate([pairs for pairs, _ in parts])
    chances = np.concatenate([chances for _, chances in parts])
    parts.clear()
    by_key = np.argsort(pairs).astype(np.uint32)
    return pairs[by_key], chances[by_key]


def _places(count: int, ends: NDArray[np.int64], order: int) -> _Ids:
    """Where tokens stand that have `order` tokens of their own text before them."""
    inside = np.ones(count, bool)
    for start in (0, *ends[:-1].tolist()):
        inside[start : start + order] = False
    return np.flatnonzero(inside).astype(np.uint32)


def _parts(token_ids: _Ids, places: _Ids, order: int) -> NDArray[np.uint8]:
    """The part of each place's context: the first bits of its key."""
    parts = np.empty(len(places), np.uint8)
    for start in range(0, len(places), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        parts[chunk] = _keys(token_ids, places[chunk], order) >> np.uint64(64 - _PART_BITS)
    return parts


def _keys(token_ids: _Ids, places: _Ids, order: int) -> _Keys:
    """The keys of the `order` tokens before each place."""
    keys = np.zeros(len(places), np.uint64)
    for back in range(1, order + 1):
        keys = extended(keys, token_ids[places - back])
    return keys


def _count(token_ids: _Ids, places: _Ids, order: int, shorter: _Chances | None) -> tuple[_Contexts, _Chances]:
    """The contexts of this length at these places. shorter: the chances behind those of one token less."""
    keys, after = _keys(token_ids, places, order), token_ids[places]
    pairs = extended(keys, after)
    by_pair = np.argsort(pairs, kind="stable")
    first = np.flatnonzero(_begins(pairs[by_pair]))
    counts = np.diff(first, append=len(pairs))
    seen = by_pair[first]  # a place of each pair
    by_count = np.lexsort((after[seen], -counts, keys[seen]))
    seen, counts = seen[by_count], counts[by_count]
    starts = np.flatnonzero(_begins(keys[seen]))
    sizes = np.diff(starts, append=len(seen))
    rank = np.arange(len(seen)) - np.repeat(starts, sizes)
    row = np.repeat(np.arange(len(starts)), sizes)
    chances = np.maximum(counts - _DISCOUNT, 0.05) / np.bincount(row, counts)[row]
    listed = rank < FOLLOWERS
    counted = listed & (counts >= _LEAST)
    before = _chances_without_first(token_ids, places[seen[counted]], order, shorter)
    saved = counts[counted] * np.maximum(0.0, np.log2(chances[counted] / before))
    worth = np.bincount(row[counted], saved, len(starts)).astype(np.float64)
    followers = np.full((len(starts), FOLLOWERS), NO_TOKEN, np.uint32)
    weights = np.full((len(starts), FOLLOWERS), 255, np.uint8)
    followers[row[listed], rank[listed]] = after[seen[listed]]
    weights[row[listed], rank[listed]] = np.clip(np.round(-16 * np.log2(chances[listed])), 0, 255)
    kept = worth > 0
    contexts = _Contexts(keys[seen[starts]][kept], followers[kept], weights[kept], worth[kept])
    return contexts, (pairs[seen], chances.astype(np.float32))


def _chances_without_first(token_ids: _Ids, places: _Ids, order: int, shorter: _Chances | None) -> NDArray[np.float64]:
    """The chance of the tokens at these places behind one token less."""
    if shorter is None:
        return np.bincount(token_ids)[token_ids[places]] / len(token_ids)
    pairs, chances = shorter
    if not len(pairs):
        return np.full(len(places), _RARE)
    wanted = extended(_keys(token_ids, places, order - 1), token_ids[places])
    at = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    return np.where(pairs[at] == wanted, chances[at], _RARE)


def _begins(values: _Keys) -> NDArray[np.bool_]:
    """Where a run of equal values begins."""
    return np.concatenate([np.ones(min(1, len(values)), bool), values[1:] != values[:-1]])
