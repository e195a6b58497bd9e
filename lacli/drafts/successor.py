"""The successor table: for a token, and for a pair of tokens, the model's top next tokens when it last saw them.

Token Recycling (arXiv 2408.08696): every verified row, accepted or not, stores its top tokens as the entry of the row's
token. Beyond the paper, they are also stored for the pair of this token and the preceding one, which is looked up
first, and each follower keeps its probability: `engine.tree` adds followers below any node, likeliest first, so the
tree grows deep where the text is predictable and wide where it is not. Filling the table costs no extra rows. The
assistant stores a reply's changes in the project's pool.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lacli.drafts.base import NO_TOKEN, StaticFollowers
from lacli.drafts.blend import PAIR_KNOWN, TOKEN_KNOWN, UNKNOWN, blended, claim

SUCCESSORS = 8
MOST_PAIRS = 65_536
"""Most pairs kept (least recently used ones are dropped); single tokens are bounded by the vocabulary."""

_PER_BIT = 16  # weights are in sixteenths of a bit: -16 log2 p
_BUCKETS = 14  # two classes per bit
_BUCKET_OF = tuple(min(weight >> 3, _BUCKETS - 1) for weight in range(256))
_BITS = math.log2(math.e)
_STRENGTH = 8.0
_DECAY = 0.99

SuccessorTable = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint8]]
"""keys [n, 2], followers [n, 8], weights [n, 8], as in `pool.update.TableRows`."""

_PAIR, _ALONE, _BESIDES = range(3)
# Prior acceptance of a follower by its stored probability, in classes of half a bit: of a known pair, of a token whose
# pair is unknown, and of a token's follower that the known pair lacks. Means over the replies of the code suite
# (`lacli bench --replay`), smoothed.
_PRIORS = (
    (0.88, 0.78, 0.62, 0.36, 0.20, 0.12, 0.07, 0.05, 0.03, 0.015, 0.012, 0.010, 0.006, 0.004),
    (0.52, 0.40, 0.36, 0.25, 0.14, 0.13, 0.09, 0.05, 0.05, 0.045, 0.030, 0.022, 0.017, 0.010),
    (0.05, 0.04, 0.03, 0.03, 0.02, 0.015, 0.01, 0.01, 0.01, 0.008, 0.005, 0.005, 0.003, 0.002),
)

_Entry = tuple[tuple[int, ...], tuple[int, ...]]
"""Followers, likeliest first, and their weights."""


class SuccessorSource:
    """The successor table as a `FollowerSource`."""

    name = "successor"

    def __init__(self, ngrams: StaticFollowers | None = None) -> None:
        """ngrams: a static table whose predictions are blended in."""
        self._ngrams = ngrams
        self._entries: dict[int, _Entry] = {}
        self._pairs: dict[int, _Entry] = {}
        self._loaded: list[SuccessorTable] = []
        self._loaded_rows: dict[int, tuple[int, int]] = {}
        """Key -> (table, row) of the loaded tables. A row becomes an entry when it is first looked up."""
        self._before: dict[int, _Entry | None] = {}
        """Previous values of what changed since the last `changes`; keys below 2^32 are of `_entries`, others of
        `_pairs`."""
        self._hits = [[0.0] * _BUCKETS for _ in _PRIORS]
        self._trials = [[0.0] * _BUCKETS for _ in _PRIORS]
        self._rates = [list(rates) for rates in _PRIORS]
        self._claims = [[claim(rate, kind) for rate in rates] for kind, rates in enumerate(_PRIORS)]
        """The same as logits, as `blended` expects them."""
        self._tail = (-1, -1)
        self._base: SuccessorSource | None = None
        """The source this one was forked from, if any."""

    def __len__(self) -> int:
        return len(self._loaded_rows.keys() | self._entries.keys() | self._pairs.keys())

    def start(self, context: Sequence[int]) -> None:
        """See `GuessSource.start`."""
        self._tail = (context[-2] if len(context) > 1 else -1, context[-1] if context else -1)

    def follow(self, *tail: int) -> list[tuple[int, float]]:
        """See `FollowerSource.follow`; likeliest first, except that followers known from the token alone come last."""
        token_id = tail[-1]
        previous = tail[-2] if len(tail) > 1 else -1
        pair = self._find(_pair_key(previous, token_id)) if previous >= 0 else None
        single = self._find(token_id)
        worth = self._rates if self._ngrams is None else self._claims
        if pair is not None:
            found = _rated(pair, worth[_PAIR])
            if single is not None:
                found += [each for each in _rated(single, worth[_BESIDES]) if each[0] not in pair[0]]
        else:
            found = _rated(single, worth[_ALONE]) if single is not None else []
        if self._ngrams is None:
            return found
        state = PAIR_KNOWN if pair is not None else TOKEN_KNOWN if single is not None else UNKNOWN
        return blended(found, state, self._ngrams.find(tail))

    def _find(self, key: int) -> _Entry | None:
        table = self._pairs if key > NO_TOKEN else self._entries
        entry = table.get(key)
        if entry is None and (location := self._loaded_rows.get(key)) is not None:
            _, followers, weights = self._loaded[location[0]]
            ids = followers[location[1]].tolist()
            count = ids.index(NO_TOKEN) if NO_TOKEN in ids else len(ids)
            entry = table[key] = (tuple(ids[:count]), tuple(weights[location[1]].tolist()[:count]))
        if entry is None and self._base is not None:
            return self._base._find(key)
        return entry

    def learn(
        self, pairs: Iterable[tuple[int, int]], followers: Iterable[list[int]], logits: Iterable[list[float]]
    ) -> None:
        """See `FollowerSource.learn`."""
        for (previous, token_id), ids, scores in zip(pairs, followers, logits, strict=True):
            entry = (tuple(ids), weights_of(scores))
            self._put(token_id, entry)
            if previous >= 0:
                self._put(_pair_key(previous, token_id), entry)

    def _put(self, key: int, entry: _Entry) -> None:
        table = self._pairs if key > NO_TOKEN else self._entries
        if key not in self._before:
            self._before[key] = self._find(key)
        table.pop(key, None)  # re-inserted, as the order is by last use
        table[key] = entry
        if len(self._pairs) > MOST_PAIRS:
            oldest = next(iter(self._pairs))
            del self._pairs[oldest]
            self._before.pop(oldest, None)

    def observe(self, token_ids: Sequence[int]) -> None:
        """Update the acceptance rates: which followers of the emitted tokens came true, by their stored probability."""
        previous, last = self._tail
        for token_id in token_ids:
            pair = self._find(_pair_key(previous, last)) if previous >= 0 else None
            single = self._find(last)
            if pair is not None:
                self._judge(pair, _PAIR, token_id, ())
            if single is not None:
                self._judge(single, _ALONE if pair is None else _BESIDES, token_id, pair[0] if pair else ())
            previous, last = last, token_id
        self._tail = (previous, last)

    def _judge(self, entry: _Entry, kind: int, right: int, known: tuple[int, ...]) -> None:
        hits, trials = self._hits[kind], self._trials[kind]
        buckets = set()
        for follower, weight in zip(*entry, strict=True):
            if follower not in known:
                bucket = _BUCKET_OF[weight]
                buckets.add(bucket)
                trials[bucket] = _DECAY * trials[bucket] + 1
                hits[bucket] = _DECAY * hits[bucket] + (follower == right)
        for bucket in buckets:
            self._rate(kind, bucket)

    def _rate(self, kind: int, bucket: int) -> None:
        """Recompute the rate of a class: the decayed Beta mean around its prior."""
        hits, trials = self._hits[kind][bucket], self._trials[kind][bucket]
        rate = self._rates[kind][bucket] = (hits + _STRENGTH * _PRIORS[kind][bucket]) / (trials + _STRENGTH)
        self._claims[kind][bucket] = claim(rate, kind)

    def fork(self) -> Self:
        """See `GuessSource.fork`."""
        fork = type(self)(self._ngrams)
        fork._base, fork._hits, fork._trials = self, self._hits, self._trials
        fork._rates, fork._claims = self._rates, self._claims
        return fork

    def merge(self, fork: Self) -> None:
        """See `GuessSource.merge`."""
        for entries in (fork._entries, fork._pairs):
            for key, entry in entries.items():
                self._put(key, entry)

    # -- between processes --------------------------------------------------------------------------------------------

    def numbers(self) -> list[float]:
        """The learned counts of the classes, for `restore` in a later process."""
        return [value for table in (self._hits, self._trials) for row in table for value in row]

    def restore(self, numbers: Sequence[float]) -> None:
        """Restore `numbers`; a list of another shape is ignored."""
        count = len(_PRIORS) * _BUCKETS
        if len(numbers) != 2 * count or not all(0 <= value < 1e6 for value in numbers):
            return
        rows = [list(numbers[at : at + _BUCKETS]) for at in range(0, 2 * count, _BUCKETS)]
        hits, trials = rows[: len(_PRIORS)], rows[len(_PRIORS) :]
        self._hits, self._trials = hits, trials
        for kind in range(len(_PRIORS)):
            for bucket in range(_BUCKETS):
                self._rate(kind, bucket)

    def load(self, keys: NDArray[np.uint32], followers: NDArray[np.uint32], weights: NDArray[np.uint8]) -> None:
        """Load entries that `changes` returned earlier; for a key loaded twice, the later one wins."""
        before, last = keys[:, 0].astype(np.uint64), keys[:, 1].astype(np.uint64)
        names = np.where(before == NO_TOKEN, last, (before + np.uint64(1)) << np.uint64(32) | last).tolist()
        number = len(self._loaded)
        self._loaded.append((keys, followers, weights))
        self._loaded_rows.update((name, (number, row)) for row, name in enumerate(names))

    def changes(self) -> SuccessorTable:
        """The entries added or changed since the last call of this or of `forget_changes`."""
        keys = list(self._before)
        followers = np.full((len(keys), SUCCESSORS), NO_TOKEN, np.uint32)
        weights = np.full((len(keys), SUCCESSORS), 255, np.uint8)
        for index, key in enumerate(keys):
            ids, marks = (self._pairs if key > NO_TOKEN else self._entries)[key]
            followers[index, : len(ids)] = ids
            weights[index, : len(marks)] = marks
        self._before.clear()
        halves = [((key >> 32) - 1 if key > NO_TOKEN else NO_TOKEN, key & NO_TOKEN) for key in keys]
        return np.array(halves, np.uint32).reshape(-1, 2), followers, weights

    def forget_changes(self) -> None:
        """Undo all changes since the last call, so that nothing of a reply is kept."""
        for key, known in self._before.items():
            table = self._pairs if key > NO_TOKEN else self._entries
            if known is None:
                table.pop(key, None)
            else:
                table[key] = known
        self._before.clear()


def _rated(entry: _Entry, worth: Sequence[float]) -> list[tuple[int, float]]:
    """The followers of an entry, each with the value of its class in `worth`."""
    return [(follower, worth[_BUCKET_OF[weight]]) for follower, weight in zip(*entry, strict=True)]


def _pair_key(previous: int, token_id: int) -> int:
    """The key of a pair; greater than every key of a single token."""
    return (previous + 1) << 32 | token_id


def weights_of(logits: Sequence[float]) -> tuple[int, ...]:
    """Stored weights of a row's top tokens: -16 log2 of their softmax among themselves, at most 255.

    logits: best first. Normalising over the whole vocabulary is not worth its time, as the weights are only classes to
    be calibrated. Plain Python is faster here than numpy, whose code is out of the CPU caches after a forward.
    """
    best = logits[0]
    total = math.log2(sum([math.exp(logit - best) for logit in logits]))
    weights = [_PER_BIT * (total + (best - logit) * _BITS) for logit in logits]
    # NaN gets the least probability; the sampler is what reports it.
    return tuple([round(weight) if weight < 255 else 255 for weight in weights])
