"""`lacli pool prune`: bring every pool under its cap, all pools together under theirs, and remove leftovers.

A pool that another lacli is writing is skipped.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from lacli.pool import projects, space
from lacli.pool.evict import Caps
from lacli.pool.journal import header_at, now_ms
from lacli.pool.store import Pool
from lacli.project.root import PoolKey
from lacli.storage.lock import locked


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was done."""

    freed_bytes: int
    compacted: int
    """Pools made smaller: they had superseded records, leftovers, or exceeded the cap."""
    deleted: int
    """Pools deleted because all together were too large."""
    vanished: tuple[Path, ...]
    """Roots of projects that no longer exist, whose pools were deleted."""
    notices: tuple[str, ...]
    """Lines for the user about pools that could not be compacted."""


def vanished(pools: Path) -> list[Path]:
    """Roots of projects that do not exist: deleted, moved, or on a disk that is not mounted."""
    roots = [record.root for _, record in _projects(pools)]
    return [root for root in roots if not os.path.lexists(root)]


def prune(pools: Path, caps: Caps, gone: Collection[Path] = ()) -> Pruned:
    """Compact the pools below `pools`, and delete damaged files that were set aside.

    gone: those of `vanished` whose pools are to be deleted.
    """
    before = _all_bytes(pools)
    deleted_roots = _delete_projects(pools, gone)
    notices: list[str] = []
    compacted = 0
    for folder in space.pool_folders(pools):
        pool = _opened(folder, caps)
        if pool is None:
            continue
        compacted += pool.compact() > 0
        notices += pool.notices
    own = pools / "none" / "in use"
    deleted = space.make_room(pools, own, caps.total_bytes, caps.total_bytes, now_ms())
    return Pruned(max(0, before - _all_bytes(pools)), compacted, deleted, deleted_roots, tuple(notices))


def _opened(folder: Path, caps: Caps) -> Pool | None:
    """Open the pool of a folder by the headers of its own files; None, after removing leftovers, if it has none."""
    header = None
    for name in (projects.POOL_NAME, space.TABLE_NAME):
        with contextlib.suppress(OSError):
            header = header or header_at(folder / name)[0]
    record = projects.read_record(folder.parent)
    root = record.root if record is not None else folder.parent
    key = PoolKey(folder.parent.name, root, header.tokenizer) if header is not None else None
    if header is None or key is None or key.tokenizer_folder() != folder.name:
        with contextlib.suppress(OSError), locked(folder / projects.POOL_NAME, 0.0):
            space.delete_leftovers(folder)
        return None
    pool = Pool(folder.parent, key, "learn", header.vocab_size, header.model, caps)
    pool.load()
    return pool if pool.learns else None


def _delete_projects(pools: Path, roots: Collection[Path]) -> tuple[Path, ...]:
    """Delete the pools of these projects, except those in use and those whose root is back; returns the roots."""
    deleted: list[Path] = []
    for folder, record in _projects(pools) if roots else ():
        if record.root not in roots or os.path.lexists(record.root):
            continue
        with contextlib.suppress(OSError):
            for pool in space.pools_of(folder):
                space.delete(pool, wait_s=0.0)
            shutil.rmtree(folder)
            deleted.append(record.root)
    return tuple(deleted)


def _projects(pools: Path) -> Iterator[tuple[Path, projects.ProjectRecord]]:
    """The projects' folders that have a valid record."""
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = sorted(os.listdir(pools))
    for name in names:
        record = projects.read_record(pools / name)
        if record is not None:
            yield pools / name, record


def _all_bytes(pools: Path) -> int:
    return sum(space.byte_size(folder) for folder in space.pool_folders(pools))
