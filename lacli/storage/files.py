"""Files of lacli's own: private folders, whole reads, appending, setting damaged ones aside.

See `atomic` for replacing a file and `lock` for keeping other processes away from it. Everything here may raise
OSError, which the callers turn into a notice or an error.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from lacli.storage import atomic

BAD_SUFFIX = ".bad"
KEPT_ASIDE = 3

_COMMON_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A FIFO in the file's place must not block the program before it has been looked at.
_READ_FLAGS = os.O_RDONLY | _COMMON_FLAGS | getattr(os, "O_NONBLOCK", 0)


class NotRegular(OSError):
    """Something that is not a regular file is in the file's place."""


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents, accessible to the owner only."""
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(each, 0o700)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(folder))


def restrict(path: Path, mode: int) -> None:
    """Remove permissions beyond `mode`, which an earlier umask or a copy may have granted."""
    with contextlib.suppress(OSError):
        if os.name == "posix" and stat.S_IMODE(os.stat(path).st_mode) & ~mode:
            os.chmod(path, mode)


def read(path: Path, start: int = 0, size: int = -1, limit: int = 1 << 30) -> bytes:
    """Read `size` bytes (or all) from byte `start` on. Raises NotRegular for a file larger than `limit`."""
    descriptor = os.open(path, _READ_FLAGS)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotRegular(errno.EINVAL, "not a regular file", str(path))
        if found.st_size > limit:
            raise NotRegular(errno.EFBIG, "far too large", str(path))
        os.lseek(descriptor, start, os.SEEK_SET)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(size)
    finally:
        os.close(descriptor)


def append(path: Path, at: int, data: bytes) -> None:
    """Truncate the file to `at` bytes and append `data`. If that fails, the file ends at `at`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | _COMMON_FLAGS)
    try:
        os.ftruncate(descriptor, at)
        try:
            atomic.write_all(descriptor, data)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, at)
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def same_age(path: Path) -> Iterator[None]:
    """Restore a file's modification time after the block."""
    before: os.stat_result | None = None
    with contextlib.suppress(OSError):
        before = os.lstat(path)
    yield
    if before is not None:
        with contextlib.suppress(OSError):
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def set_aside(path: Path) -> Path:
    """Rename a damaged file to a name ending in .bad, and delete all but the newest few of those."""
    aside = path.with_name(f"{path.name}.{time.time_ns()}{BAD_SUFFIX}")
    os.rename(path, aside)
    older = sorted(path.parent.glob(f"{path.name}.*{BAD_SUFFIX}"))[:-KEPT_ASIDE]
    for each in older:
        with contextlib.suppress(OSError):  # a folder stays: it may hold something precious
            each.unlink()
    return aside
