"""What the records of a pool's log amount to: the stored replies by last use, and what was accepted from each.

In memory only; `store` reads and writes the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from lacli.pool import evict
from lacli.pool.format import (
    CREDIT,
    CREDIT_WORDS,
    DIGEST_WORDS,
    REFRESH,
    SEGMENT,
    Record,
    WordArray,
    digest,
    segment_bytes,
)

KINDS = frozenset({SEGMENT, REFRESH, CREDIT})
CREDIT_BYTES = segment_bytes(CREDIT_WORDS)
_PARTS = 16
"""A credit is stored in sixteenths of a token, so that little is lost when a decayed one is written again."""
_MOST_VALUE = 1e6


@dataclass(slots=True)
class Kept:
    """One stored reply."""

    token_ids: WordArray
    used_ms: int
    """When it was last said."""
    value: float = 0.0
    """Tokens accepted from it, decayed to `value_ms`."""
    value_ms: int = 0
    fits: bool = True
    """Whether this session's model knows all its ids."""

    def value_at(self, now_ms: int) -> float:
        """Tokens accepted from it, as they count now."""
        return evict.decayed(self.value, now_ms - self.value_ms)


class Log:
    """The stored replies, the one said longest ago first."""

    def __init__(self) -> None:
        self.kept: dict[bytes, Kept] = {}
        self.tokens = 0
        """In the replies that fit."""
        # What `held` tells after every reply is kept up to date, as a full pool has more than 100,000 of them.
        self._all_tokens = 0
        self._useful: list[Kept] = []

    def clear(self) -> None:
        """Nothing is stored."""
        self.kept = {}
        self.tokens = self._all_tokens = 0
        self._useful = []

    def add(self, records: Iterable[Record], limit: int | None = None) -> None:
        """Take in records in the order of the file. limit: ids from it on are unknown to this session's model."""
        for record in records:
            if record.kind == CREDIT:
                self._credit(record)
                continue
            name = record.words.tobytes() if record.kind == REFRESH else digest(record.words)
            known = self.kept.pop(name, None)  # out and in again: the order is by last use
            if known is not None:
                known.used_ms = record.time_ms
                self.kept[name] = known
            elif record.kind == SEGMENT:
                fits = limit is None or not len(record.words) or int(record.words.max()) < limit
                self.kept[name] = Kept(record.words, record.time_ms, fits=fits)
                self._all_tokens += len(record.words)
                self.tokens += len(record.words) if fits else 0

    def drop(self, name: bytes) -> None:
        """This reply is not stored after all."""
        self.kept.pop(name, None)
        self._count()

    def _credit(self, record: Record) -> None:
        for row in record.words.reshape(-1, CREDIT_WORDS):
            known = self.kept.get(row[:DIGEST_WORDS].tobytes())
            if known is not None:
                if not known.value and row[DIGEST_WORDS]:
                    self._useful.append(known)
                before = evict.decayed(known.value, record.time_ms - known.value_ms)
                known.value = min(_MOST_VALUE, before + int(row[DIGEST_WORDS]) / _PARTS)
                known.value_ms = max(known.value_ms, record.time_ms)

    def join(self, other: Log, vocab_size: int, limit: int | None, now_ms: int) -> None:
        """Take in the replies of another log of ids below `vocab_size`; of what both hold, the later and the worthier.

        limit: see `add`.
        """
        for name, theirs in other.kept.items():
            highest = int(theirs.token_ids.max()) if len(theirs.token_ids) else -1
            if highest >= vocab_size:
                continue
            theirs.fits = limit is None or highest < limit
            ours = self.kept.setdefault(name, theirs)
            ours.used_ms = max(ours.used_ms, theirs.used_ms)
            ours.value, ours.value_ms = max(ours.value_at(now_ms), theirs.value_at(now_ms)), now_ms
        self.kept = dict(sorted(self.kept.items(), key=lambda item: item[1].used_ms))
        self._count()

    def _count(self) -> None:
        """Bring the sums up to date."""
        self.tokens = sum(len(each.token_ids) for each in self.kept.values() if each.fits)
        self._all_tokens = sum(len(each.token_ids) for each in self.kept.values())
        self._useful = [each for each in self.kept.values() if each.value]

    def held(self, byte_size: int, now_ms: int) -> dict[str, float]:
        """What `numbers` keeps of a log of this size, so that `inventory` need not read it."""
        ends = [self.kept[name].used_ms for name in (*islice(self.kept, 1), *islice(reversed(self.kept), 1))]
        return {
            "tokens": self._all_tokens,
            "segments": len(self.kept),
            "bytes": byte_size,
            "value": sum(each.value_at(now_ms) for each in self._useful),
            "value_ms": now_ms,
            "hits": len(self._useful),
            "oldest_ms": min(ends, default=0),
            "newest_ms": max(ends, default=0),
        }

    def worth_most(self, tokens: int, now_ms: int) -> list[bytes]:
        """Names of the replies that fit, of at most so many tokens together; the one said longest ago first."""
        names = [name for name, each in self.kept.items() if each.fits]
        if self.tokens <= tokens:
            return names
        holdings = [self._holding(name, now_ms) for name in names]
        return [names[place] for place in evict.choose(holdings, segment_bytes(0) + 4 * tokens, now_ms)]

    def _holding(self, name: bytes, now_ms: int) -> evict.Holding:
        each = self.kept[name]
        size = segment_bytes(len(each.token_ids)) + (CREDIT_BYTES if each.value else 0)
        used_ms = min(each.used_ms, now_ms)  # a clock that was wrong must not make a reply the newest for years
        return evict.Holding(size, each.value_at(now_ms), used_ms)

    def record_of(self, token_ids: WordArray, now_ms: int) -> Record:
        """What to append for a reply: itself, or that one which is stored was said again."""
        name = digest(token_ids)
        if name in self.kept:
            return Record(np.frombuffer(name, "<u4"), now_ms, REFRESH)
        return Record(token_ids, now_ms)

    def shrink(self, room: int, now_ms: int) -> None:
        """Forget the replies worth least, so that `records` make a file of at most `room` bytes."""
        names = list(self.kept)
        staying = evict.choose([self._holding(name, now_ms) for name in names], room, now_ms)
        self.kept = {names[place]: self.kept[names[place]] for place in staying}
        self._count()

    def records(self, now_ms: int) -> list[Record]:
        """All of it as the records of a new file."""
        records = [Record(each.token_ids, each.used_ms) for each in self.kept.values()]
        credit = credit_record({name: each.value_at(now_ms) for name, each in self.kept.items() if each.value}, now_ms)
        return [*records, credit] if credit is not None else records


def credit_record(values: Mapping[bytes, float], now_ms: int) -> Record | None:
    """The record that tokens were accepted from these replies, named by digest; None where none were."""
    words: list[bytes] = []
    for name, value in values.items():
        parts = round(_PARTS * min(max(value, 0.0), _MOST_VALUE))
        if parts:
            words += [name, parts.to_bytes(4, "little")]
    return Record(np.frombuffer(b"".join(words), "<u4"), now_ms, CREDIT) if words else None
