"""Which files hold which runs of tokens (shingles), as a small file of hashes beside the pool: never a token, a text
or a name.

Of a file's runs of four tokens one in four is kept, chosen by its hash, as 32 bits of a salted hash, unordered. That
is enough to tell from a context which files it quotes, so that only those are read and tokenised; and too little to
reconstruct a text from its runs. Pure except for `load` and `save`.

    header   magic, version, count of files and of shingles, fingerprint of the tokenizer, salt, CRC-32 of all the rest
    files    one record each: hashes of name and content, size, time, tokens, state, count of shingles
    shingles uint32, file by file, ascending within a file
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from lacli.project import skip
from lacli.storage import atomic
from lacli.storage import files as disk

FILE_NAME = "files.lacli"
HashArray = NDArray[np.uint32]

_MAGIC = b"LACLIFIX"
_VERSION = 1
"""Also to be raised when the rules of `skip` or `pool.secrets` grow stricter: what was indexed before is read again."""
_HEADER = struct.Struct("<8sHxxII32s16sI")
_RECORD = np.dtype(
    {
        "names": ["name", "content", "mtime_ns", "size", "tokens", "shingles", "state"],
        "formats": ["<u8", "<u8", "<i8", "<u4", "<u4", "<u4", "<u4"],
    }
)
_MAX_BYTES = 32 << 20
_ABANDONED_S = 3_600.0
_RUN = 4
_ONE_IN = 4
_WIDESPREAD = 16
"""A run that more files hold than this says nothing of which one is meant."""

_BUILT = 1 << 8
"""Bit of `state`, whose lower ones number the reason in `_REASONS`, 0 for none."""
_REASONS = get_args(skip.Reason)


@dataclass(frozen=True, slots=True, eq=False)
class FileEntry:
    """What is known of one file."""

    content: int
    """Hash of its bytes."""
    size: int
    """When it was read."""
    mtime_ns: int
    """When it was read."""
    tokens: int
    """How many it has; 0 if it is left out."""
    shingles: HashArray
    """Hashes of its runs, ascending."""
    left_out: skip.Reason | None = None
    """Why it is not read again before it changes; None if it can be."""
    built: bool = False
    """Read because the user named it, not because it is tracked."""


class ShingleIndex:
    """The index in memory. `entries` may be changed; `seal` makes the changes count in `candidates`."""

    def __init__(self, salt: bytes = b"", entries: Mapping[int, FileEntry] | None = None) -> None:
        self.salt = salt or secrets.token_bytes(16)
        self.entries: dict[int, FileEntry] = dict(entries or {})
        """By the hash of the file's name."""
        self._names = np.empty(0, np.uint64)
        self._sorted = np.empty(0, np.uint64)

    def seal(self) -> None:
        """Sort all shingles together with their files."""
        held = [(name, entry.shingles) for name, entry in self.entries.items() if len(entry.shingles)]
        self._names = np.array([name for name, _ in held], dtype=np.uint64)
        if not held:
            self._sorted = np.empty(0, np.uint64)
            return
        owners = np.repeat(np.arange(len(held), dtype=np.uint64), [len(hashes) for _, hashes in held])
        joined = np.concatenate([hashes for _, hashes in held]).astype(np.uint64)
        self._sorted = np.sort((joined << np.uint64(32)) | owners)

    def candidates(self, context: NDArray[np.int64]) -> list[tuple[int, float]]:
        """Files that the context seems to quote, by the hash of the name, with how many runs of theirs it shares.

        A run that several files hold counts as a share for each.
        """
        wanted = shingles_of(context, self.salt).astype(np.uint64) << np.uint64(32)
        low = np.searchsorted(self._sorted, wanted, "left")
        high = np.searchsorted(self._sorted, wanted | np.uint64(0xFFFFFFFF), "right")
        shares = high - low
        specific = (shares > 0) & (shares <= _WIDESPREAD)
        low, shares = low[specific], shares[specific]
        if not len(low):
            return []
        steps = np.arange(int(shares.sum())) - np.repeat(np.cumsum(shares) - shares, shares)
        owners = (self._sorted[np.repeat(low, shares) + steps] & np.uint64(0xFFFFFFFF)).astype(np.int64)
        scores = np.bincount(owners, weights=np.repeat(1.0 / shares, shares), minlength=len(self._names))
        best = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
        return [(int(self._names[index]), float(scores[index])) for index in best]


def shingles_of(token_ids: NDArray[np.int64] | NDArray[np.uint32], salt: bytes) -> HashArray:
    """The shingles of a text, ascending, each once."""
    ids = np.asarray(token_ids).astype(np.uint64)
    count = len(ids) - _RUN + 1
    if count <= 0:
        return np.empty(0, np.uint32)
    seeds = np.frombuffer(hashlib.blake2b(salt, digest_size=16).digest(), dtype="<u8")
    hashes = np.full(count, seeds[0], np.uint64)
    for offset in range(_RUN):
        hashes = (hashes ^ ids[offset : offset + count]) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    hashes = (hashes ^ seeds[1]) * np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(32)
    kept = hashes[hashes % np.uint64(_ONE_IN) == 0]
    return np.unique((kept >> np.uint64(24)).astype(np.uint32))


def encode(index: ShingleIndex, fingerprint: str) -> bytes:
    """The file's bytes."""
    rows = [(name, *_fields(entry)) for name, entry in index.entries.items()]
    records = np.array(rows, dtype=_RECORD)
    shingles = [entry.shingles.astype("<u4").tobytes() for entry in index.entries.values()]
    body = b"".join([records.tobytes(), *shingles])
    count = sum(len(entry.shingles) for entry in index.entries.values())
    head = (_MAGIC, _VERSION, len(records), count, _fingerprint_digest(fingerprint), index.salt)
    checked = zlib.crc32(body, zlib.crc32(_HEADER.pack(*head, 0)))
    return _HEADER.pack(*head, checked) + body


def _fields(entry: FileEntry) -> tuple[int, ...]:
    reason = 0 if entry.left_out is None else 1 + _REASONS.index(entry.left_out)
    state = reason | _BUILT * entry.built
    return entry.content, entry.mtime_ns, entry.size, entry.tokens, len(entry.shingles), state


def decode(data: bytes, fingerprint: str) -> ShingleIndex | None:
    """The index in these bytes; None if they are damaged, of another version or for another tokenizer."""
    if len(data) < _HEADER.size:
        return None
    magic, version, files, count, tokenizer, salt, checked = _HEADER.unpack_from(data)
    body = memoryview(data)[_HEADER.size :]
    if (magic, version, tokenizer) != (_MAGIC, _VERSION, _fingerprint_digest(fingerprint)):
        return None
    head = _HEADER.pack(magic, version, files, count, tokenizer, salt, 0)
    if len(body) != files * _RECORD.itemsize + 4 * count or zlib.crc32(body, zlib.crc32(head)) != checked:
        return None
    records = np.frombuffer(body, _RECORD, files)
    hashes = np.frombuffer(body, "<u4", count, files * _RECORD.itemsize)
    if int(records["shingles"].sum()) != count:
        return None
    return ShingleIndex(salt, dict(_entries(records, hashes)))


def _entries(records: NDArray[np.void], all_hashes: HashArray) -> Iterator[tuple[int, FileEntry]]:
    start = 0
    for name, content, mtime_ns, size, tokens, count, state in records.tolist():
        own = all_hashes[start : start + count]
        reason = state & (_BUILT - 1)
        left_out = _REASONS[reason - 1] if 0 < reason <= len(_REASONS) else None
        yield name, FileEntry(content, size, mtime_ns, tokens, own, left_out, bool(state & _BUILT))
        start += count


def _fingerprint_digest(fingerprint: str) -> bytes:
    return hashlib.sha256(fingerprint.encode("utf-8", "surrogatepass")).digest()


def load(path: Path, fingerprint: str) -> ShingleIndex | None:
    """The index of a file; None where there is none that can be used: it is made again, nothing is lost."""
    try:
        return decode(disk.read(path, limit=_MAX_BYTES), fingerprint)
    except OSError:
        return None


def save(index: ShingleIndex, path: Path, fingerprint: str) -> int:
    """Put the index in the place of the file, and give its size. May raise OSError."""
    data = encode(index, fingerprint)
    disk.make_private(path.parent)
    atomic.replace(path, data, beside=path.with_name(f"{path.name}.{os.getpid()}.tmp"))
    _sweep(path)
    return len(data)


def _sweep(path: Path) -> None:
    """Remove what killed processes have left beside the file; a younger one may be another's that is writing."""
    for left in path.parent.glob(f"{path.name}.*.tmp"):
        with contextlib.suppress(OSError):
            if abs(time.time() - left.stat().st_mtime) > _ABANDONED_S:  # the clock may have been put back
                left.unlink()
