"""The disk space of all pools together: which pools are deleted when they exceed the caps, and how.

    <pools>/<project id>/<tokenizer>/    one pool: log, successor table, numbers, lock, what was set aside;
                                         and the indexes of project files, which go with it (`lacli.project`)

Sizes come from the file system; no log is read.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from lacli.pool import evict, numbers, projects
from lacli.storage import files, lock

TABLE_NAME = "table.lacli"

_PARTS = (projects.POOL_NAME, TABLE_NAME, numbers.NAME)
_KEPT_SHARE = 0.9
_TEMPORARY = ".tmp"


def pool_folders(pools: Path) -> Iterator[Path]:
    """Every pool's folder."""
    for project in _folders(pools):
        yield from pools_of(project)


def pools_of(project: Path) -> list[Path]:
    """The folders of one project's pools: those that contain anything but a lock, even only an index of its files."""
    return [folder for folder in _folders(project) if any(True for _ in _parts(folder))]


def byte_size(folder: Path) -> int:
    """Total size of the files of one pool."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                total += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return total


def make_room(pools: Path, own: Path, project_bytes: int, total_bytes: int, now_ms: int) -> int:
    """Delete pools other than `own` that exceed the caps: of its project, then of all. Returns their number."""
    sizes = {folder: byte_size(folder) for folder in pool_folders(pools)}
    used = sizes.pop(own, 0)
    siblings = {folder: size for folder, size in sizes.items() if folder.parent == own.parent}
    gone = _shrink(siblings, used, project_bytes, now_ms)
    for folder in gone:
        del sizes[folder]
    return len(gone) + len(_shrink(sizes, used, total_bytes, now_ms))


def _shrink(sizes: dict[Path, int], used: int, cap: int, now_ms: int) -> list[Path]:
    if used + sum(sizes.values()) <= cap:
        return []
    folders = list(sizes)
    staying = evict.choose([_stored_item(each, sizes[each], now_ms) for each in folders], _left(cap, used), now_ms)
    gone: list[Path] = []
    for place in sorted(set(range(len(folders))) - set(staying)):
        with contextlib.suppress(OSError):  # in use by another lacli, or not permitted
            delete(folders[place], wait_s=0.0)
            gone.append(folders[place])
    return gone


def _left(cap: int, used: int) -> int:
    """Bytes left for the other pools, with some slack, so that the next process need not evict again."""
    return max(0, int(_KEPT_SHARE * cap) - used)


def _stored_item(folder: Path, size: int, now_ms: int) -> evict.StoredItem:
    held = numbers.read(folder / numbers.NAME).held
    value = evict.decayed(held.get("value", 0.0), int(now_ms - held.get("value_ms", now_ms)))
    used_ms = 0
    for path in _parts(folder):
        with contextlib.suppress(OSError):
            used_ms = max(used_ms, path.lstat().st_mtime_ns // 1_000_000)
    return evict.StoredItem(size, value, used_ms)


def delete(folder: Path, wait_s: float) -> int:
    """Delete one pool, with damaged files that were set aside and indexes of project files. Returns the bytes freed.

    The lock file stays, as another process may hold or await it. Raises OSError, TimeoutError if the lock is held.
    """
    freed = 0
    with lock.locked(folder / projects.POOL_NAME, wait_s):
        for path in _parts(folder):
            freed += path.lstat().st_size
            path.unlink()
    return freed


def delete_leftovers(folder: Path) -> int:
    """Delete damaged files set aside and partial files of killed processes. Call under the lock."""
    freed = 0
    for path in _parts(folder):
        if path.name.startswith(_PARTS) and path.name.endswith((files.BAD_SUFFIX, _TEMPORARY)):
            freed += path.lstat().st_size
            path.unlink()
    return freed


def _parts(folder: Path) -> Iterator[Path]:
    """The files of one pool except its lock. A folder in a file's place is not one of them, and so is never deleted."""
    for name in _names(folder):
        path = folder / name
        ours = ".lacli" in name or name.startswith(numbers.NAME)
        if ours and not name.endswith(lock.SUFFIX) and (path.is_symlink() or not path.is_dir()):
            yield path


def _folders(above: Path) -> list[Path]:
    paths = [above / name for name in _names(above)]
    return [path for path in paths if path.is_dir()]  # also links, by which users move pools to another disk


def _names(above: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return sorted(os.listdir(above))
    return []
