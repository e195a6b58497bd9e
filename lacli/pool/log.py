"""The stored replies of a pool, ordered by last use, and how many tokens were accepted from each.

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
"""Credits are stored in sixteenths of a token, so that rewriting decayed ones loses little."""
_MOST_VALUE = 1e6


@dataclass(slots=True)
class StoredReply:
    """One stored reply."""

    token_ids: WordArray
    used_ms: int
    """When the model last gave this reply."""
    value: float = 0.0
    """Tokens accepted from it, decayed to `value_ms`."""
    value_ms: int = 0
    fits: bool = True
    """Whether this session's model knows all its ids."""

    def value_at(self, now_ms: int) -> float:
        """Tokens accepted from it, decayed to now."""
        return evict.decayed(self.value, now_ms - self.value_ms)


class Log:
    """The stored replies, least recently given first."""

    def __init__(self) -> None:
        self.replies: dict[bytes, StoredReply] = {}
        self.tokens = 0
        """Tokens of the replies that fit."""
        # Kept up to date for `held`, which is called after every reply: a full pool has more than 100,000 replies.
        self._all_tokens = 0
        self._useful: list[StoredReply] = []

    def clear(self) -> None:
        """Remove everything."""
        self.replies = {}
        self.tokens = self._all_tokens = 0
        self._useful = []

    def add(self, records: Iterable[Record], limit: int | None = None) -> None:
        """Add records in file order. limit: ids >= limit are unknown to this session's model."""
        for record in records:
            if record.kind == CREDIT:
                self._credit(record)
                continue
            name = record.words.tobytes() if record.kind == REFRESH else digest(record.words)
            known = self.replies.pop(name, None)  # re-inserted, as the order is by last use
            if known is not None:
                known.used_ms = record.time_ms
                self.replies[name] = known
            elif record.kind == SEGMENT:
                fits = limit is None or not len(record.words) or int(record.words.max()) < limit
                self.replies[name] = StoredReply(record.words, record.time_ms, fits=fits)
                self._all_tokens += len(record.words)
                self.tokens += len(record.words) if fits else 0

    def drop(self, name: bytes) -> None:
        """Remove a reply that could not be stored after all."""
        self.replies.pop(name, None)
        self._count()

    def _credit(self, record: Record) -> None:
        for row in record.words.reshape(-1, CREDIT_WORDS):
            known = self.replies.get(row[:DIGEST_WORDS].tobytes())
            if known is not None:
                if not known.value and row[DIGEST_WORDS]:
                    self._useful.append(known)
                before = evict.decayed(known.value, record.time_ms - known.value_ms)
                known.value = min(_MOST_VALUE, before + int(row[DIGEST_WORDS]) / _PARTS)
                known.value_ms = max(known.value_ms, record.time_ms)

    def join(self, other: Log, vocab_size: int, limit: int | None, now_ms: int) -> None:
        """Merge the replies of another log whose ids are below `vocab_size`.

        For a reply in both logs, the later time and the higher value are kept.

        limit: see `add`.
        """
        for name, theirs in other.replies.items():
            highest = int(theirs.token_ids.max()) if len(theirs.token_ids) else -1
            if highest >= vocab_size:
                continue
            theirs.fits = limit is None or highest < limit
            ours = self.replies.setdefault(name, theirs)
            ours.used_ms = max(ours.used_ms, theirs.used_ms)
            ours.value, ours.value_ms = max(ours.value_at(now_ms), theirs.value_at(now_ms)), now_ms
        self.replies = dict(sorted(self.replies.items(), key=lambda item: item[1].used_ms))
        self._count()

    def _count(self) -> None:
        """Recompute the sums."""
        self.tokens = sum(len(each.token_ids) for each in self.replies.values() if each.fits)
        self._all_tokens = sum(len(each.token_ids) for each in self.replies.values())
        self._useful = [each for each in self.replies.values() if each.value]

    def held(self, byte_size: int, now_ms: int) -> dict[str, float]:
        """The summary stored in `numbers`, so that `inventory` need not read the log."""
        ends = [self.replies[name].used_ms for name in (*islice(self.replies, 1), *islice(reversed(self.replies), 1))]
        return {
            "tokens": self._all_tokens,
            "segments": len(self.replies),
            "bytes": byte_size,
            "value": sum(each.value_at(now_ms) for each in self._useful),
            "value_ms": now_ms,
            "hits": len(self._useful),
            "oldest_ms": min(ends, default=0),
            "newest_ms": max(ends, default=0),
        }

    def worth_most(self, tokens: int, now_ms: int) -> list[bytes]:
        """Digests of the most valuable replies that fit, of at most so many tokens together, oldest first."""
        names = [name for name, each in self.replies.items() if each.fits]
        if self.tokens <= tokens:
            return names
        items = [self._stored_item(name, now_ms) for name in names]
        return [names[place] for place in evict.choose(items, segment_bytes(0) + 4 * tokens, now_ms)]

    def _stored_item(self, name: bytes, now_ms: int) -> evict.StoredItem:
        each = self.replies[name]
        size = segment_bytes(len(each.token_ids)) + (CREDIT_BYTES if each.value else 0)
        used_ms = min(each.used_ms, now_ms)  # a wrong clock must not keep a reply the newest for years
        return evict.StoredItem(size, each.value_at(now_ms), used_ms)

    def record_of(self, token_ids: WordArray, now_ms: int) -> Record:
        """The record to append for a reply: a SEGMENT, or a REFRESH if it is stored already."""
        name = digest(token_ids)
        if name in self.replies:
            return Record(np.frombuffer(name, "<u4"), now_ms, REFRESH)
        return Record(token_ids, now_ms)

    def shrink(self, room: int, now_ms: int) -> None:
        """Evict the least valuable replies until `records` needs at most `room` bytes."""
        names = list(self.replies)
        staying = evict.choose([self._stored_item(name, now_ms) for name in names], room, now_ms)
        self.replies = {names[place]: self.replies[names[place]] for place in staying}
        self._count()

    def records(self, now_ms: int) -> list[Record]:
        """The records of a file with the whole log."""
        records = [Record(each.token_ids, each.used_ms) for each in self.replies.values()]
        credit = credit_record(
            {name: each.value_at(now_ms) for name, each in self.replies.items() if each.value}, now_ms
        )
        return [*records, credit] if credit is not None else records


def credit_record(values: Mapping[bytes, float], now_ms: int) -> Record | None:
    """The CREDIT record for tokens accepted, by digest of the reply; None if there are none."""
    words: list[bytes] = []
    for name, value in values.items():
        parts = round(_PARTS * min(max(value, 0.0), _MOST_VALUE))
        if parts:
            words += [name, parts.to_bytes(4, "little")]
    return Record(np.frombuffer(b"".join(words), "<u4"), now_ms, CREDIT) if words else None
