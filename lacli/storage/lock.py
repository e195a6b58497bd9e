"""Locks between processes: a lock file beside what is guarded, or the file itself.

The system drops a lock when its process dies, however it dies. Where a file system has no locks, callers choose:
no access (`locked`), a marker file instead (`hold` with `marker`), or going on without (`lock_file`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from filelock import BaseFileLock

SUFFIX = ".lock"

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL}
_POLL_S = 0.02


@contextlib.contextmanager
def locked(path: Path, wait_s: float) -> Iterator[None]:
    """Hold the lock file beside `path`; see `hold`. A lock file is the owner's alone."""
    with hold(f"{path}{SUFFIX}", wait_s, mode=0o600):
        yield


@contextlib.contextmanager
def hold(
    lock_file: str | os.PathLike[str],
    wait_s: float,
    poll_s: float = _POLL_S,
    mode: int = -1,
    on_wait: Callable[[], None] = lambda: None,
    marker: bool = False,
) -> Iterator[None]:
    """Hold this lock file while the block runs; `on_wait` is called once if another process has it.

    marker: on a file system without locks, use a file that names its process. It outlives a process that is killed,
    and may then have to be waited for.

    Raises TimeoutError if another process keeps the lock for longer than `wait_s`, OSError with ENOLCK if there are no
    locks, and other OSErrors if the file cannot be opened.
    """
    from filelock import FileLock  # deferred: `pool info` takes no lock

    lock = FileLock(lock_file, mode=mode, fallback_to_soft=marker)
    try:
        _acquire(lock, wait_s, poll_s, on_wait)
    except (NotImplementedError, OSError) as error:
        if _means_no_locks(error):
            raise OSError(errno.ENOLCK, "this file system has no locks", os.fspath(lock_file)) from error
        raise
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: BaseFileLock, wait_s: float, poll_s: float, on_wait: Callable[[], None]) -> None:
    try:
        lock.acquire(timeout=0)
        return
    except TimeoutError:
        if wait_s <= 0:
            raise
    on_wait()
    lock.acquire(timeout=wait_s, poll_interval=poll_s)


def _means_no_locks(error: Exception) -> bool:
    """Whether locking failed, rather than opening the lock file or waiting for another process."""
    if isinstance(error, NotImplementedError):
        return True
    return isinstance(error, OSError) and error.errno in _NO_LOCKS and error.filename is None


def lock_file(file: IO[Any], wait_s: float = 0.0) -> bool:
    """Lock an open file itself until it is closed. False if another process has kept it for longer than `wait_s`.

    True also where the system or the file system has no such locks. Of two files opened by one process, each needs its
    own lock.
    """
    try:
        import fcntl
    except ImportError:
        return True
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        except OSError:
            return True
