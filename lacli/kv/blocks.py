"""One block of the KV cache as bytes: 64 positions, named by everything that stands before them and in them.

Names are chained, as vLLM's prefix cache chains its blocks: a block's name is the hash of the name before it and of its
own token ids, and the first one's of what computed it. A name so stands for one content, whoever wrote it.

    magic "LKV1" · crc32 of the name and all that follows · depth · milliseconds it took · size of the payload · payload
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

POSITIONS = 64
"""Token positions of a block."""
_MAGIC = b"LKV1"
_HEAD = struct.Struct("<4sI")
_REST = struct.Struct("<IfQ")
_IDS = struct.Struct(f"<{POSITIONS}I")
HEADER_BYTES = _HEAD.size + _REST.size


@dataclass(frozen=True, slots=True)
class Header:
    """What is known of a stored block without its payload."""

    depth: int
    """Blocks before it."""
    ms: float
    """What it took to compute."""
    size: int
    """Bytes of the payload."""


def names(seed: bytes, token_ids: Sequence[int]) -> list[str]:
    """The names of all whole blocks of these ids, in their order. `seed` says what computes."""
    return list(chain(seed, token_ids))


def chain(seed: bytes, token_ids: Sequence[int]) -> Iterator[str]:
    """The same one by one, for who may stop before the last."""
    before = hashlib.sha256(seed).digest()
    for first in range(0, len(token_ids) - POSITIONS + 1, POSITIONS):
        before = hashlib.sha256(before + _IDS.pack(*token_ids[first : first + POSITIONS])).digest()
        yield before.hex()[:40]


def packed(name: str, payload: bytes, depth: int, ms: float) -> bytes:
    """A block as it lies in its file."""
    rest = _REST.pack(depth, ms, len(payload))
    return _HEAD.pack(_MAGIC, zlib.crc32(payload, zlib.crc32(rest, zlib.crc32(name.encode())))) + rest + payload


def unpacked(name: str, data: bytes, size: int) -> memoryview | None:
    """The payload, of `size` bytes; None where it is not whole, not one, or another block's."""
    if len(data) != HEADER_BYTES + size:
        return None
    magic, checksum = _HEAD.unpack_from(data)
    if magic != _MAGIC or zlib.crc32(memoryview(data)[_HEAD.size :], zlib.crc32(name.encode())) != checksum:
        return None
    return memoryview(data)[HEADER_BYTES:]


def header(data: bytes) -> Header | None:
    """What the first bytes of a file say; None where they are no block's."""
    if len(data) < HEADER_BYTES or not data.startswith(_MAGIC):
        return None
    return Header(*_REST.unpack_from(data, _HEAD.size))
