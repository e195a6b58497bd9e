"""What pools there are, for `lacli pool`: read without a model, without a lock, and without judging more than bytes.

Only `clear` changes anything.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from lacli.pool import files, projects
from lacli.pool.format import REFRESH, decode_header, decode_segments, header_size

_CLEAR_WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class PoolInfo:
    """One pool: a project's for one tokenizer."""

    path: Path
    tokenizer: str
    """Fingerprint; empty where the header cannot be read."""
    model: str
    """The model that wrote first."""
    tokens: int
    segments: int
    """Different replies."""
    byte_size: int
    created_s: float
    """Seconds since 1970; 0 where unknown."""
    updated_s: float
    damage: str
    """What is wrong, to follow "the pool file"; empty if nothing is."""
    torn: bool
    """Only the last entry is incomplete; the next append repairs it."""


@dataclass(frozen=True, slots=True)
class ProjectInfo:
    """One project's folder."""

    folder: Path
    root: Path | None
    """Where the project was when the pool was last written; None if the record is missing."""
    pools: tuple[PoolInfo, ...]


def project_info(folder: Path) -> ProjectInfo:
    """Describe the pools below one project's folder (`projects.locate`); an empty one if it does not exist."""
    record = projects.read_record(folder)
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = sorted(os.listdir(folder))
    paths = [folder / name / projects.POOL_NAME for name in names]
    pools = tuple(_pool_info(path) for path in paths if os.path.lexists(path))
    return ProjectInfo(folder, record.root if record else None, pools)


def all_projects(pools: Path) -> list[ProjectInfo]:
    """Every project that has a pool, the one used last first."""
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = os.listdir(pools)
    found = [project_info(pools / name) for name in names]
    kept = [each for each in found if each.pools]
    return sorted(kept, key=lambda each: -max(pool.updated_s for pool in each.pools))


def clear(folder: Path) -> int:
    """Delete the pools below one project's folder, damaged ones set aside included. Returns how many bytes that freed.

    The lock files stay: another process may hold or await them. Raises OSError.
    """
    freed = 0
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        inner = folder / name
        if not inner.is_dir() or inner.is_symlink():
            continue
        with files.locked(inner / projects.POOL_NAME, _CLEAR_WAIT_S):
            for path in inner.glob(f"{projects.POOL_NAME}*"):
                if path.name != projects.POOL_NAME + files.LOCK_SUFFIX and (path.is_symlink() or not path.is_dir()):
                    freed += path.lstat().st_size
                    path.unlink()
    for path in folder.glob(f"{projects.RECORD_NAME}*"):
        path.unlink()
    return freed


def _pool_info(path: Path) -> PoolInfo:
    updated, size = 0.0, 0
    try:
        found = os.lstat(path)
        updated, size = found.st_mtime, found.st_size
        data = files.read(path)
    except OSError as error:
        return PoolInfo(path, "", "", 0, 0, size, 0.0, updated, f"cannot be read ({error.strerror})", False)
    header, damage = decode_header(data)
    if header is None:
        text = damage.text if damage else ""
        return PoolInfo(path, "", "", 0, 0, size, 0.0, updated, text, False)
    segments, damage = decode_segments(data, header_size(data), header.vocab_size)
    distinct = {each.digest(): len(each.token_ids) for each in segments if not each.flags & REFRESH}
    return PoolInfo(
        path,
        header.tokenizer,
        header.model,
        sum(distinct.values()),
        len(distinct),
        len(data),
        header.created_ms / 1000,
        updated,
        damage.text if damage else "",
        damage is not None and damage.kind == "tail",
    )
