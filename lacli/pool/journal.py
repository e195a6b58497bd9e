"""One file of records on disk: read, followed as it grows, appended to, rewritten, or set aside when damaged.

The meaning of the records is the caller's (`log`, `table`, through `store`). Methods that write must be called under
the lock and may raise OSError.
"""

from __future__ import annotations

import os
import secrets as random_source
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lacli.pool.format import (
    VERSION,
    Damage,
    Header,
    Record,
    decode_header,
    decode_records,
    encode_header,
    encode_record,
    header_size,
    impossible,
)
from lacli.storage import atomic, files

_HEAD_BYTES = 1 << 17
"""Larger than any header."""


class DamagedFile(Exception):
    """The file is too damaged to be used."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage.text)
        self.damage = damage


@dataclass(frozen=True, slots=True)
class NewRecords:
    """The records found by a read that were not known before."""

    records: list[Record]
    torn: bool = False
    """The last record is incomplete; the next append removes it."""
    from_start: bool = False
    """These are all records of the file: it is another file than the one known before."""


class Journal:
    """A file of records and how far it has been read."""

    def __init__(
        self, path: Path, title: str, tokenizer: str, vocab_size: int, model: str, kinds: frozenset[int]
    ) -> None:
        """vocab_size, model: for the header if the file is created here; kinds: records that it may contain."""
        self.path = path
        self.title = title
        """Its name in messages."""
        self.header: Header | None = None
        """None until a valid file has been read or created."""
        self.end = 0
        """Offset up to which the file has been read and is valid."""
        self._tokenizer = tokenizer
        self._vocab_size = vocab_size
        self._model = model
        self._kinds = kinds
        self._header_bytes = b""

    def forget(self) -> None:
        """Reset to the state before the first read."""
        self.header, self._header_bytes, self.end = None, b"", 0

    def read_all(self, limit: int) -> NewRecords:
        """Read all records. Raises `DamagedFile` on any damage but an incomplete last record."""
        self.forget()
        data = files.read(self.path, limit=limit)
        header, damage = decode_header(data)
        if header is None:
            raise DamagedFile(damage or Damage("header", "has no header", 0))
        if header.tokenizer != self._tokenizer:
            raise DamagedFile(Damage("foreign", "belongs to another tokenizer", 0))
        start = header_size(data)
        records, torn = self._sound(data, start, header.vocab_size)
        self.header, self._header_bytes = header, data[:start]
        self.end = len(data) if torn is None else torn.offset
        return NewRecords(records, torn is not None, from_start=True)

    def read_on(self, limit: int) -> NewRecords:
        """Read the records appended since the last read, or all if it is another file. Raises like `read_all`."""
        header, known = self.header, len(self._header_bytes)
        same = header is not None and files.read(self.path, size=known, limit=limit) == self._header_bytes
        if header is None or not same or os.stat(self.path).st_size < self.end:
            return self.read_all(limit)
        records, torn = self._sound(files.read(self.path, self.end, limit=limit), 0, header.vocab_size)
        self.end += sum(record.byte_size() for record in records)
        return NewRecords(records, torn is not None)

    def _sound(self, data: bytes, start: int, vocab_size: int) -> tuple[list[Record], Damage | None]:
        records, damage = decode_records(data, start)
        if damage is None or damage.kind == "tail":
            wrong = impossible(records, self._kinds, vocab_size)
            if wrong is None:
                return records, damage
            damage = wrong
        raise DamagedFile(damage)

    def append(self, records: Sequence[Record]) -> None:
        """Append records behind what was read, overwriting an incomplete last record."""
        data = b"".join(map(encode_record, records))
        files.append(self.path, self.end, data)
        files.restrict(self.path, 0o600)
        self.end += len(data)

    def outdated(self) -> bool:
        """Whether the file must be rewritten before anything is appended: its format is older, so some records would be
        misread, or its vocabulary is smaller, so some ids would be invalid."""
        header = self.header
        return header is not None and (header.version < VERSION or header.vocab_size < self._vocab_size)

    def make(self, records: Sequence[Record]) -> None:
        """Replace the file by one with these records, keeping its creation time. Readers that have the old file open
        are not affected."""
        vocab_size = max(self._vocab_size, self.header.vocab_size if self.header is not None else 0)
        created_ms = self.header.created_ms if self.header is not None else now_ms()
        nonce = random_source.token_hex(8)
        header = Header(self._tokenizer, vocab_size, self._model, created_ms, nonce)
        header_bytes = encode_header(header)
        data = b"".join([header_bytes, *map(encode_record, records)])
        atomic.replace(self.path, data, beside=self.path.with_name(f"{self.path.name}.tmp"))
        self.header, self._header_bytes, self.end = header, header_bytes, len(data)

    def header_bytes(self) -> int:
        """Size of the file's header."""
        return len(self._header_bytes)

    def header_room(self) -> int:
        """Size that the header of a new file will have."""
        return len(encode_header(Header(self._tokenizer, 1 << 32, self._model, now_ms(), "0" * 16)))

    def set_aside(self) -> Path:
        """Rename the file, adding .bad. Returns the new path."""
        self.forget()
        return files.set_aside(self.path)


def header_at(path: Path) -> tuple[Header | None, Damage | None]:
    """The header of a file, or its defect, whatever the rest of the file is like. Raises OSError."""
    return decode_header(files.read(path, size=_HEAD_BYTES))


def now_ms() -> int:
    """Milliseconds since 1970."""
    return max(0, time.time_ns() // 1_000_000)
