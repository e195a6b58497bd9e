"""Pool file format: bytes to records and back. Pure: no files, no clock, no lock; `journal` and `transfer` call it.

    file     magic 8 | version u32 | size of header text u32 | CRC32 of the 8 bytes before and the text u32
             header text: JSON in UTF-8, padded with blanks to a multiple of 4
    record   words u32 | kind u32 | time, ms since 1970, u64 | CRC32 of payload u32 | CRC32 of the 20 bytes before
             payload: so many u32 words

    kind 0   SEGMENT: one reply's accepted token ids; version 1 knew only this kind and the next
    kind 1   REFRESH: the digest (2 words) of a segment that was said again
    kind 2   CREDIT: for each segment 3 words: its digest, and the tokens accepted from it, in sixteenths
    kind 4   TABLE: entries of the successor table, see `table`
    kind 8   TOTALS: counters as JSON in ASCII, padded with blanks; only in exports, see `transfer`

Little-endian throughout. A record's head has a CRC of its own, so that a flipped bit in a length is told from a file
that ends too early. Nothing here raises on bad bytes: what is wrong comes back as `Damage`.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x89LACLI\r\n"  # the first byte is no text and the line end is the kind that transfers in text mode break
VERSION = 2
SEGMENT, REFRESH, CREDIT, TABLE, TOTALS = 0, 1, 2, 4, 8

DIGEST_WORDS = 2
CREDIT_WORDS = 3

_FILE_HEAD = struct.Struct("<8sIII")
_RECORD_HEAD = struct.Struct("<IIQII")
_CHECKED = _RECORD_HEAD.size - 4
_MAX_HEADER_TEXT = 1 << 16

WordArray: TypeAlias = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file; written once, when the file is created."""

    tokenizer: str
    """Fingerprint of the tokenizer the ids belong to."""
    vocab_size: int
    """Every id in the file is below it."""
    model: str
    """The model that created the file; informational."""
    created_ms: int
    nonce: str
    """Random; tells a compacted or re-created file from the one known before."""
    version: int = VERSION
    """Format version; not part of the header text."""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One record, its payload not decoded yet."""

    words: WordArray
    time_ms: int
    kind: int = SEGMENT

    def byte_size(self) -> int:
        """Its size in the file, in bytes."""
        return _RECORD_HEAD.size + 4 * len(self.words)


@dataclass(frozen=True, slots=True)
class Damage:
    """The first defect found in a file."""

    kind: Literal["empty", "foreign", "future", "header", "record", "ids", "tail"]
    """`tail`: an append was cut short and only the last record is lost; `future`: a newer lacli wrote the file."""
    text: str
    """What is wrong: completes a sentence that begins "the pool file"."""
    offset: int
    """Everything before this byte is sound."""


def digest(token_ids: WordArray) -> bytes:
    """The digest of a segment's tokens, by which it is named."""
    raw = np.ascontiguousarray(token_ids, "<u4").data
    return blake2b(raw, digest_size=4 * DIGEST_WORDS).digest()


def segment_bytes(tokens: int) -> int:
    """Size in the file, in bytes, of a segment of so many tokens."""
    return _RECORD_HEAD.size + 4 * tokens


def encode_header(header: Header) -> bytes:
    """The bytes of a header."""
    fields = {
        "tokenizer": header.tokenizer,
        "vocab_size": header.vocab_size,
        "model": header.model,
        "created_ms": header.created_ms,
        "nonce": header.nonce,
    }
    text = json.dumps(fields).encode("ascii")
    text += b" " * (-len(text) % 4)
    sizes = struct.pack("<II", header.version, len(text))
    return MAGIC + sizes + struct.pack("<I", zlib.crc32(text, zlib.crc32(sizes))) + text


def encode_record(record: Record) -> bytes:
    """One record."""
    payload = record.words.astype("<u4", copy=False).tobytes()
    head = struct.pack("<IIQI", len(record.words), record.kind, record.time_ms, zlib.crc32(payload))
    return head + struct.pack("<I", zlib.crc32(head)) + payload


def header_size(data: bytes) -> int:
    """Offset of the first record, from the first 20 bytes of a file; 0 if they are not valid."""
    if len(data) < _FILE_HEAD.size or not data.startswith(MAGIC):
        return 0
    size: int = _FILE_HEAD.unpack_from(data)[2]
    return _FILE_HEAD.size + size if size % 4 == 0 and size <= _MAX_HEADER_TEXT else 0


def decode_header(data: bytes) -> tuple[Header | None, Damage | None]:
    """The header, or the defect in it; never both."""
    if not data:
        return None, Damage("empty", "is empty", 0)
    if not data.startswith(MAGIC):
        kind: Literal["header", "foreign"] = "header" if MAGIC.startswith(data) else "foreign"
        return None, Damage(kind, "is no lacli pool", 0)
    if len(data) < _FILE_HEAD.size:
        return None, Damage("header", "ends within its header", 0)
    _, version, _, crc = _FILE_HEAD.unpack_from(data)
    if version > VERSION:
        return None, Damage("future", f"was written by a newer lacli (format {version}, this one knows {VERSION})", 0)
    end = header_size(data)
    if not end or len(data) < end or zlib.crc32(data[_FILE_HEAD.size : end], zlib.crc32(data[8:16])) != crc:
        return None, Damage("header", "has a damaged header", 0)
    header = _parse_header(data[_FILE_HEAD.size : end], version)
    return (header, None) if header and version else (None, Damage("header", "has an unusable header", 0))


def _parse_header(text: bytes, version: int) -> Header | None:
    try:
        fields: Any = json.loads(text)
        named = {name: fields[name] for name in ("tokenizer", "vocab_size", "model", "created_ms", "nonce")}
        header = Header(**named, version=version)
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    texts = (header.tokenizer, header.model, header.nonce)
    numbers = (header.vocab_size, header.created_ms)
    right = all(isinstance(text, str) for text in texts) and all(
        type(number) is int and 0 <= number < 1 << 62 for number in numbers
    )
    return header if right else None


def decode_file(data: bytes, kinds: frozenset[int]) -> tuple[Header | None, list[Record], Damage | None]:
    """Decode a whole file that may contain these kinds of record: header, records, and the most severe defect."""
    header, damage = decode_header(data)
    if header is None:
        return None, [], damage
    records, damage = decode_records(data, header_size(data))
    if damage is None or damage.kind == "tail":
        damage = impossible(records, kinds, header.vocab_size) or damage
    return header, records, damage


def decode_records(data: bytes, start: int) -> tuple[list[Record], Damage | None]:
    """The records from byte `start` up to the first defect. Their arrays are views into `data`."""
    records: list[Record] = []
    view, at, end = memoryview(data), start, len(data)
    unpack, crc32, size = _RECORD_HEAD.unpack_from, zlib.crc32, _RECORD_HEAD.size
    while at < end:
        if end - at < size:
            return records, Damage("tail", "ends within a record", at)
        count, kind, time_ms, payload_crc, head_crc = unpack(data, at)
        if crc32(view[at : at + _CHECKED]) != head_crc:
            if data.count(0, at) == end - at:  # a power cut can leave a longer file, with blocks never written
                return records, Damage("tail", "ends in zeros", at)
            return records, Damage("record", f"is damaged at byte {at}", at)
        body, after = at + size, at + size + 4 * count
        if after > end:
            return records, Damage("tail", "ends within a record", at)
        if crc32(view[body:after]) != payload_crc:
            if after == end:
                return records, Damage("tail", "has a damaged last record", at)
            return records, Damage("record", f"is damaged at byte {body}", at)
        records.append(Record(np.frombuffer(data, "<u4", count, body), time_ms, kind))
        at = after
    return records, None


def impossible(records: list[Record], kinds: frozenset[int], vocab_size: int) -> Damage | None:
    """A defect in the contents of sound records: a kind or a token id that may not occur. Entries of `TABLE` records
    are checked by `table`."""
    for record in records:
        size = len(record.words)
        if record.kind not in kinds:
            return Damage("record", "holds records of an unknown kind", 0)
        if record.kind == SEGMENT and size and int(record.words.max()) >= vocab_size:
            return Damage("ids", f"holds token ids its vocabulary of {vocab_size} lacks", 0)
        if (record.kind == REFRESH and size != DIGEST_WORDS) or (record.kind == CREDIT and size % CREDIT_WORDS):
            return Damage("record", "holds impossible records", 0)
    return None
