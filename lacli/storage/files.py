"""The few things a pool does to the disk: private folders, whole reads, atomic replacement, the lock, setting aside.

Everything here may raise OSError; the callers (`store`, `projects`, `inventory`) turn that into a notice.
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

LOCK_SUFFIX = ".lock"
BAD_SUFFIX = ".bad"
KEPT_ASIDE = 3

_COMMON_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A FIFO in the file's place must not block the program before it has been looked at.
_READ_FLAGS = os.O_RDONLY | _COMMON_FLAGS | getattr(os, "O_NONBLOCK", 0)
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL}


class NotRegular(OSError):
    """Something that is no regular file lies where the file should be."""


def make_private(folder: Path) -> None:
    """Make a folder and its missing parents, readable by the owner only."""
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(each, 0o700)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(folder))


def restrict(path: Path, mode: int) -> None:
    """Take away from others what an earlier umask or a copy gave them."""
    with contextlib.suppress(OSError):
        if os.name == "posix" and stat.S_IMODE(os.stat(path).st_mode) & ~mode:
            os.chmod(path, mode)


def read(path: Path, start: int = 0, size: int = -1, limit: int = 1 << 30) -> bytes:
    """`size` bytes (or all) from byte `start` on. A file larger than `limit` is refused rather than loaded."""
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


def write_all(descriptor: int, data: bytes) -> None:
    """Write and bring to the disk; a short write is continued."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


def append(path: Path, at: int, data: bytes) -> None:
    """Put `data` at byte `at`, which becomes the end of what was there. On failure the file ends at `at` again."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | _COMMON_FLAGS)
    try:
        os.ftruncate(descriptor, at)
        try:
            write_all(descriptor, data)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, at)
            raise
    finally:
        os.close(descriptor)


def replace(path: Path, beside: Path, data: bytes) -> None:
    """Write `beside` (same folder, nobody else's name), bring it to the disk, and put it in the place of `path`."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(beside)  # left by a process that was killed
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON_FLAGS, 0o600)
    try:
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    atomic.sync_folder(path.parent)


@contextlib.contextmanager
def same_age(path: Path) -> Iterator[None]:
    """A block after which a file counts as changed when it was before, whatever was done with it."""
    before: os.stat_result | None = None
    with contextlib.suppress(OSError):
        before = os.lstat(path)
    yield
    if before is not None:
        with contextlib.suppress(OSError):
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@contextlib.contextmanager
def locked(path: Path, wait_s: float) -> Iterator[None]:
    """Hold the lock beside `path`. Raises TimeoutError if another process keeps it longer than `wait_s`."""
    from filelock import FileLock  # deferred: `pool info` takes no lock

    # A marker file instead of a lock would outlive a process that is killed, and lock out all that come after it.
    lock = FileLock(f"{path}{LOCK_SUFFIX}", timeout=wait_s, mode=0o600, fallback_to_soft=False)
    try:
        lock.acquire(poll_interval=0.02)
    except TimeoutError:
        raise
    except NotImplementedError as error:
        raise OSError(errno.ENOLCK, "this file system has no locks", str(path)) from error
    except OSError as error:
        if error.errno in _NO_LOCKS and error.filename is None:  # the lock failed, not the opening of its file
            raise OSError(errno.ENOLCK, "this file system has no locks", str(path)) from error
        raise
    try:
        yield
    finally:
        lock.release()


def set_aside(path: Path) -> Path:
    """Rename what lies at `path` to a name ending in .bad, and keep only the newest few of those."""
    aside = path.with_name(f"{path.name}.{time.time_ns()}{BAD_SUFFIX}")
    os.rename(path, aside)
    older = sorted(path.parent.glob(f"{path.name}.*{BAD_SUFFIX}"))[:-KEPT_ASIDE]
    for each in older:
        with contextlib.suppress(OSError):  # a folder stays: it may hold what nobody meant to lose
            each.unlink()
    return aside
