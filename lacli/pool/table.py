"""Encodes the successor table as records: sorted, delta-coded, compressed, checked on decoding. Pure; used by `store`.

Payload of a TABLE record, n entries:

    words    n | zlib stream, padded with zeros to a multiple of 4
    stream   keys (token before, token) as u64, ascending, each less the one before: 8 planes of n bytes
             8 followers, u32: 4 planes of n bytes each
             8 weights, u8, each less the one before it in the entry: a plane of n bytes each

A plane holds one byte of each number; planes are ordered from the lowest byte. For equal keys the last entry wins. An
entry is as old as its record: a compacted file has the entries in blocks, the oldest first.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacli.pool.format import TABLE, Damage, Record
from lacli.pool.update import NO_TOKEN, TableRows

KINDS = frozenset({TABLE})
FOLLOWERS = 8
MOST_ENTRIES = 100_000
"""Most entries of a table: about 2 MB compressed."""
BLOCK_ENTRIES = 8_192

_ENTRY_BYTES = 8 + 4 * FOLLOWERS + FOLLOWERS
_LEVEL = 3
_MOST_ROWS_READ = 4 * MOST_ENTRIES
"""Most entries in all records of a file. Compaction keeps files far below, so a larger one was not written here."""

_Bytes: TypeAlias = NDArray[np.uint8]


def empty() -> TableRows:
    """A table without entries."""
    shape = (0, FOLLOWERS)
    return TableRows(np.zeros((0, 2), np.uint32), np.zeros(shape, np.uint32), np.zeros(shape, np.uint8))


def sound(rows: TableRows, vocab_size: int) -> TableRows:
    """The storable entries: of the right shape and with ids below `vocab_size`. Takes arrays of any integer type."""
    keys, followers, weights = np.asarray(rows.keys), np.asarray(rows.followers), np.asarray(rows.weights)
    count = len(keys)
    shapes = (keys.shape, followers.shape, weights.shape)
    if not count or shapes != ((count, 2), (count, FOLLOWERS), (count, FOLLOWERS)):
        return empty()
    right = (keys[:, 1] >= 0) & (keys[:, 1] < vocab_size)
    right &= (keys[:, 0] == NO_TOKEN) | ((keys[:, 0] >= 0) & (keys[:, 0] < vocab_size))
    right &= ((followers == NO_TOKEN) | ((followers >= 0) & (followers < vocab_size))).all(1)
    if not right.all():
        keys, followers, weights = keys[right], followers[right], weights[right]
    clipped = weights if weights.dtype == np.uint8 else np.clip(weights, 0, 255)
    return TableRows(keys.astype(np.uint32), followers.astype(np.uint32), clipped.astype(np.uint8))


def merged(parts: Iterable[TableRows]) -> TableRows:
    """The last entry of each key, in the order of the parts and of the entries within them."""
    parts = list(parts)
    if not parts:
        return empty()
    joined = TableRows(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.followers for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )
    _, last = np.unique(_packed(joined.keys)[::-1], return_index=True)
    return take(joined, np.sort(len(joined.keys) - 1 - last))


def take(rows: TableRows, places: NDArray[np.intp] | slice) -> TableRows:
    """The entries at these indices."""
    return TableRows(rows.keys[places], rows.followers[places], rows.weights[places])


def _packed(keys: NDArray[np.uint32]) -> NDArray[np.uint64]:
    return keys[:, 0].astype(np.uint64) << np.uint64(32) | keys[:, 1].astype(np.uint64)


# -- records --------------------------------------------------------------------------------------------------------


def encode(rows: TableRows, time_ms: int, block: int = BLOCK_ENTRIES) -> list[Record]:
    """The records for these entries, in blocks."""
    starts = range(0, len(rows.keys), block)
    return [_encode_block(take(rows, slice(start, start + block)), time_ms) for start in starts]


def _encode_block(rows: TableRows, time_ms: int) -> Record:
    keys = _packed(rows.keys)
    order = np.argsort(keys, kind="stable")
    deltas = np.diff(keys[order], prepend=np.uint64(0))
    steps = np.diff(rows.weights[order], axis=1, prepend=np.uint8(0))
    planes = [
        deltas.astype("<u8").view(np.uint8).reshape(-1, 8).T,
        rows.followers[order].astype("<u4").view(np.uint8).reshape(-1, 4 * FOLLOWERS).T,
        steps.T,
    ]
    packed = zlib.compress(np.concatenate(planes).tobytes(), _LEVEL)
    packed = len(keys).to_bytes(4, "little") + packed + bytes(-len(packed) % 4)
    return Record(np.frombuffer(packed, "<u4"), time_ms, TABLE)


def entries_in(record: Record) -> int:
    """The number of entries that a record claims to contain."""
    return int(record.words[0]) if len(record.words) else 0


def decode(records: Iterable[Record], vocab_size: int) -> tuple[list[tuple[int, TableRows]], Damage | None]:
    """The time and entries of each record, up to the first invalid one, and its defect.

    Inflates no more than a table may contain.
    """
    parts: list[tuple[int, TableRows]] = []
    total = 0
    for record in records:
        total += entries_in(record)
        if total > _MOST_ROWS_READ:
            return parts, Damage("record", "holds more entries than a table has", 0)
        rows = _decode_block(record)
        if rows is None:
            return parts, Damage("record", "holds an impossible record", 0)
        if not _known_ids(rows, vocab_size):
            return parts, Damage("ids", f"holds token ids its vocabulary of {vocab_size} lacks", 0)
        parts.append((record.time_ms, rows))
    return parts, None


def _known_ids(rows: TableRows, vocab_size: int) -> bool:
    one = np.uint32(1)  # adding 1 maps NO_TOKEN to 0
    highest = max(int((rows.followers + one).max()), int((rows.keys[:, 0] + one).max()))
    return highest <= vocab_size and int(rows.keys[:, 1].max()) < vocab_size


def _decode_block(record: Record) -> TableRows | None:
    count = entries_in(record)
    if not 0 < count <= BLOCK_ENTRIES:
        return None
    size = count * _ENTRY_BYTES
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(record.words[1:].tobytes(), size + 1)
    except zlib.error:
        return None
    if len(raw) != size or not inflater.eof:
        return None
    planes: _Bytes = np.frombuffer(raw, np.uint8).reshape(_ENTRY_BYTES, count)
    keys = np.cumsum(_numbers(planes[:8], "<u8").ravel(), dtype=np.uint64)
    pairs = np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)
    followers = _numbers(planes[8 : 8 + 4 * FOLLOWERS], "<u4").astype(np.uint32, copy=False)
    weights = np.cumsum(planes[8 + 4 * FOLLOWERS :].T, axis=1, dtype=np.uint8)
    return TableRows(pairs, followers, weights)


def _numbers(planes: _Bytes, kind: str) -> NDArray[np.unsignedinteger[np.typing.NBitBase]]:
    return np.ascontiguousarray(planes.T).view(kind)


def compacted(parts: Iterable[tuple[int, TableRows]], room: int, most: int = MOST_ENTRIES) -> Iterator[Record]:
    """The records for the newest entries that fit into the size given, the oldest first."""
    parts = list(parts)
    whole = merged(part for _, part in parts)
    whole = take(whole, slice(max(0, len(whole.keys) - most), None))
    block = min(BLOCK_ENTRIES, max(64, room // 512))
    kept: list[Record] = []
    time_ms = max((time_ms for time_ms, _ in parts), default=0)
    for end in range(len(whole.keys), 0, -block):
        record = _encode_block(take(whole, slice(max(0, end - block), end)), time_ms)
        room -= record.byte_size()
        if room < 0:
            break
        kept.append(record)
    return reversed(kept)
