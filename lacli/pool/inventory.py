"""Lists pools for `lacli pool`, without a model and without a lock; checks the bytes of files, not their meaning.

Only `clear` changes anything.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lacli.errors import LacliError
from lacli.pool import evict, log, numbers, projects, space, table
from lacli.pool.format import Damage, Header, Record, decode_file
from lacli.pool.journal import header_at, now_ms
from lacli.storage import files

_CLEAR_WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class PoolInfo:
    """One pool: that of a project and a tokenizer."""

    path: Path
    """Path of the log; the other files are beside it."""
    tokenizer: str = ""
    """Fingerprint of the tokenizer; empty if the header cannot be read."""
    vocab_size: int = 0
    model: str = ""
    """The model that created the pool."""
    tokens: int = 0
    segments: int = 0
    """Distinct replies."""
    byte_size: int = 0
    """Size of the log."""
    created_s: float = 0.0
    """Seconds since 1970; 0 if unknown."""
    updated_s: float = 0.0
    oldest_s: float = 0.0
    """When the least recently given reply was given, seconds since 1970; 0 if there is none."""
    newest_s: float = 0.0
    value: float = 0.0
    """Tokens accepted from stored replies, decayed with a half-life of a week."""
    hits: int = 0
    """Stored replies from which tokens were accepted."""
    table_bytes: int = 0
    table_entries: int = 0
    """Entries of the successor table; 0 if `quick`."""
    totals: dict[str, float] = field(default_factory=dict)
    """Counters of all replies (`PoolUpdate.totals`)."""
    damage: str = ""
    """What is wrong: completes a sentence that begins "the pool file"; empty if nothing is."""
    torn: bool = False
    """Only the last entry is incomplete; the next reply repairs it."""
    table_damage: str = ""
    """The same for "the successor table"; an incomplete last record does not count."""


@dataclass(frozen=True, slots=True)
class ProjectInfo:
    """One project's folder."""

    folder: Path
    root: Path | None
    """The project's root when the pool was last written; None if the record is missing."""
    pools: tuple[PoolInfo, ...]


def project_info(folder: Path, quick: bool = False) -> ProjectInfo:
    """Describe the pools below one project's folder (`projects.locate`); no pools if it does not exist.

    quick: trust the stored numbers if they match the log's size, and do not look for damage.
    """
    record = projects.read_record(folder)
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = sorted(os.listdir(folder))
    paths = [folder / name / projects.POOL_NAME for name in names]
    pools = tuple(_pool_info(path, quick) for path in paths if os.path.lexists(path))
    return ProjectInfo(folder, record.root if record else None, pools)


def all_projects(pools: Path) -> list[ProjectInfo]:
    """Every project with a pool, most recently used first; described with `quick`."""
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = os.listdir(pools)
    found = [project_info(pools / name, quick=True) for name in names]
    kept = [each for each in found if each.pools]
    return sorted(kept, key=lambda each: -max(pool.updated_s for pool in each.pools))


def clear(folder: Path) -> int:
    """Delete everything below one project's folder (`space.delete`). Returns the number of bytes freed.

    The lock files stay, as another process may hold or await them. Raises OSError.
    """
    freed = sum(space.delete(pool, _CLEAR_WAIT_S) for pool in space.pools_of(folder))
    for path in folder.glob(f"{projects.RECORD_NAME}*"):
        path.unlink()
    return freed


@contextlib.contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Translate failures of the disk and of locks to LacliError."""
    try:
        yield
    except TimeoutError as error:
        raise LacliError("another lacli is writing this pool", "try again in a moment") from error
    except OSError as error:
        raise LacliError(f"the pool cannot be changed: {error.strerror}", f"see {folder}") from error


def _pool_info(path: Path, quick: bool) -> PoolInfo:
    size, updated = _stat(path)
    try:
        records: list[Record] = []
        header, damage = header_at(path)
        known = numbers.read(path.with_name(numbers.NAME))
        trusted = quick and known.held.get("bytes") == size
        if header is not None and not trusted:
            header, records, damage = decode_file(files.read(path), log.KINDS)
    except OSError as error:
        return PoolInfo(path, byte_size=size, updated_s=updated, damage=f"cannot be read ({error.strerror})")
    if header is None:
        text = damage.text if damage else ""
        return PoolInfo(path, byte_size=size, updated_s=updated, totals=known.totals, damage=text)
    return _described(path, header, records, damage, known, trusted)


def _described(
    path: Path, header: Header, records: list[Record], damage: Damage | None, known: numbers.Numbers, trusted: bool
) -> PoolInfo:
    size, updated = _stat(path)
    now, held = now_ms(), known.held
    if not trusted:
        replies = log.Log()
        replies.add(records if damage is None or damage.kind == "tail" else [])
        held = replies.held(size, now)
    entries, table_damage = (0, "") if trusted else _table(path.with_name(space.TABLE_NAME), header)
    return PoolInfo(
        path=path,
        tokenizer=header.tokenizer,
        vocab_size=header.vocab_size,
        model=header.model,
        tokens=int(held.get("tokens", 0)),
        segments=int(held.get("segments", 0)),
        byte_size=size,
        created_s=header.created_ms / 1000,
        updated_s=updated,
        oldest_s=held.get("oldest_ms", 0) / 1000,
        newest_s=held.get("newest_ms", 0) / 1000,
        value=evict.decayed(held.get("value", 0.0), int(now - held.get("value_ms", now))),
        hits=int(held.get("hits", 0)),
        table_bytes=_stat(path.with_name(space.TABLE_NAME))[0],
        table_entries=entries,
        totals=known.totals,
        damage=damage.text if damage else "",
        torn=damage is not None and damage.kind == "tail",
        table_damage=table_damage,
    )


def _table(path: Path, owner: Header) -> tuple[int, str]:
    """The number of entries of a successor table, and the defect found in it, if any."""
    try:
        header, records, damage = decode_file(files.read(path), table.KINDS)
    except FileNotFoundError:
        return 0, ""
    except OSError as error:
        return 0, f"cannot be read ({error.strerror})"
    if header is None:
        return 0, damage.text if damage else ""
    if header.tokenizer != owner.tokenizer:
        return 0, "belongs to another tokenizer"
    if damage is None or damage.kind == "tail":
        parts, damage = table.decode(records, header.vocab_size)
    return (0, damage.text) if damage is not None else (len(table.merged(rows for _, rows in parts).keys), "")


def _stat(path: Path) -> tuple[int, float]:
    try:
        found = os.lstat(path)
    except OSError:
        return 0, 0.0
    return found.st_size, found.st_mtime
