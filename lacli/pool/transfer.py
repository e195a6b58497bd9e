"""`lacli pool export` and `import`: the contents of a pool as one file, for another computer. Token ids, no text.

The file is a pool file (`format`) of the current version: header, then
    SEGMENT records, least recently given reply first, each with the time it was last given;
    one CREDIT record with the tokens accepted from them, decayed to its time;
    TABLE records (`table`), the oldest first;
    one TOTALS record: counters as JSON {"version": 1, "totals": {...}}, as in `numbers`.
Any of them may be missing. Calibration is not included, as it belongs to one computer.

An import trusts nothing: sizes, CRCs, ids and names are checked, and what `check` refuses is left out. Replies and
entries are merged with those present, keeping their age; totals are imported only into a pool that has none.
"""

from __future__ import annotations

import json
import re
import secrets as random_source
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lacli.errors import LacliError, UsageError
from lacli.pool import log, numbers, space, table
from lacli.pool.format import (
    CREDIT,
    SEGMENT,
    TABLE,
    TOTALS,
    Damage,
    Header,
    Record,
    decode_file,
    encode_header,
    encode_record,
)
from lacli.pool.journal import now_ms
from lacli.pool.store import Pool
from lacli.storage import atomic, files

_KINDS = frozenset({SEGMENT, CREDIT, TABLE, TOTALS})
_NO_LIMIT = 1 << 62
_OWN = "see lacli pool verify"
_GIVEN = "export it again, or copy it again"
MOST_BYTES = 256_000_000


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    replies: int
    """Replies in the file."""
    refused: int
    """Replies left out because they seem to contain a secret; then the successor table is left out, too."""
    crowded_out: int
    """Replies that the pool has no room for."""
    entries: int
    """Entries of the successor table that were imported."""
    new_replies: int
    """Replies that the pool did not have before."""
    new_entries: int
    """Entries of the successor table that it did not have before."""


def export(pool: Path, destination: Path) -> int:
    """Write the contents of the pool at `pool` (a path of `PoolInfo`) to a file; returns its size. Takes no lock."""
    header, records = _read(pool, log.KINDS)
    exported = log.Log()
    exported.add(records)
    beside_it: list[Record] = []
    table_path = pool.with_name(space.TABLE_NAME)
    if table_path.exists():
        table_header, beside_it = _read(table_path, table.KINDS)
        parts, damage = table.decode(beside_it, table_header.vocab_size)
        if damage is not None:
            raise _unusable(table_path, damage, _OWN)
        if table_header.tokenizer != header.tokenizer:
            parts = []
        beside_it = list(table.compacted(parts, _NO_LIMIT))
        header = _with_vocabulary(header, max(header.vocab_size, table_header.vocab_size))
    totals = {"version": numbers.VERSION, "totals": numbers.read(pool.with_name(numbers.NAME)).totals}
    records = [*exported.records(now_ms()), *beside_it, _text_record(json.dumps(totals))]
    data = encode_header(header) + b"".join(map(encode_record, records))
    try:
        atomic.put(str(destination), data)
    except OSError as error:
        raise LacliError(f"{destination} cannot be written: {error.strerror}", "choose another place") from error
    return len(data)


def header_of(source: Path) -> Header:
    """The header of an exported file, by which its pool is chosen. Raises `LacliError`."""
    return _read(source, _KINDS)[0]


def import_(pool: Pool, source: Path, check: Callable[[Sequence[int]], bool] | None = None) -> Imported:
    """Merge an exported file into a pool.

    check: whether the reply with these ids may be stored; it has the tokenizer to see their text. Raises `LacliError`.
    """
    header, records = _read(source, _KINDS)
    if header.tokenizer != pool.key.tokenizer:
        raise UsageError(
            f"{source} was made with another tokenizer ({_short(header.tokenizer)}, not {_short(pool.key.tokenizer)})",
            "import it with the model it was made with: -m MODEL",
        )
    parts, damage = table.decode([each for each in records if each.kind == TABLE], header.vocab_size)
    if damage is not None:
        raise _unusable(source, damage, _GIVEN)
    now = now_ms()
    logged = [_not_later(each, now) for each in records if each.kind in (SEGMENT, CREDIT)]
    refused = 0
    if check is not None:
        right = [each.kind != SEGMENT or check(each.words.tolist()) for each in logged]
        refused = right.count(False)
        logged = [each for each, kept in zip(logged, right, strict=True) if kept]
    rows = table.merged(rows for _, rows in parts) if not refused else table.empty()
    imported = log.Log()
    imported.add(logged)
    names = list(imported.replies)
    had, knew = pool.holds(names), _contexts(pool)
    if not pool.merge(imported, rows, _totals(records)):
        raise LacliError(pool.notices.pop() if pool.notices else "the pool is read only", "see lacli pool info")
    in_file = sum(each.kind == SEGMENT for each in records)
    has = pool.holds(names)
    new = len(_contexts(pool) - knew)
    return Imported(in_file, refused, len(names) - has, len(rows.keys), max(0, has - had), new)


def _contexts(pool: Pool) -> set[bytes]:
    """The keys in the pool's successor table."""
    rows = pool.table()
    return {key.tobytes() for key in rows.keys} if rows is not None else set()


def _read(path: Path, kinds: frozenset[int]) -> tuple[Header, list[Record]]:
    own = kinds is not _KINDS
    try:
        data = files.read(path, limit=MOST_BYTES)
    except OSError as error:
        failure, remedy = (LacliError, _OWN) if own else (UsageError, "check the name; - is stdin")
        raise failure(f"{path} cannot be read: {error.strerror}", remedy) from error
    header, records, damage = decode_file(data, kinds)
    if damage is not None and damage.kind == "tail" and own:
        damage = None  # the last append was interrupted, or is in progress
    if header is None or damage is not None:
        raise _unusable(path, damage, _OWN if own else _GIVEN)
    return header, records


def _unusable(path: Path, damage: Damage | None, remedy: str) -> LacliError:
    newer = damage is not None and damage.kind == "future"
    text = damage.text if damage is not None else "has no header"
    return LacliError(f"{path} {text}", "install a newer lacli" if newer else remedy)


def _short(fingerprint: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "?", fingerprint[:16])


def _with_vocabulary(header: Header, vocab_size: int) -> Header:
    return Header(header.tokenizer, vocab_size, header.model, now_ms(), random_source.token_hex(8))


def _not_later(record: Record, now: int) -> Record:
    return record if record.time_ms <= now else Record(record.words, now, record.kind)


def _text_record(text: str) -> Record:
    raw = text.encode("ascii")
    return Record(np.frombuffer(raw + b" " * (-len(raw) % 4), "<u4"), now_ms(), TOTALS)


def _totals(records: Sequence[Record]) -> dict[str, float]:
    for record in records:
        if record.kind == TOTALS and len(record.words) < 1 << 18:
            fields = numbers.parse(record.words.tobytes())
            return fields.totals
    return {}
