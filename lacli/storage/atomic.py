"""Replacing a file as a whole: whoever reads it, and whatever is killed or full, finds the old bytes or the new ones.
What lacli keeps for itself goes through `storage.files`. Raises OSError, which the callers translate.

A file with several names (hard links), or one that is mounted by itself (a container's), cannot be replaced without
ceasing to be what the other names lead to: it is written into, with a copy of what was in it beside it meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Callable, Iterator

from lacli.errors import LacliError

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NAME_LENGTH = 40
"""Letters of the name that the file beside has, too: names are limited to 255 bytes."""


def _undressed(beside: str) -> None:
    """The new file stays as it was made."""


def replace(path: str, data: bytes, mode: int = 0o600, dress: Callable[[str], None] = _undressed) -> None:
    """Put `data` into the file at `path`, by way of a hidden one beside it; where it fails nothing has changed.

    The new file is made with `mode` (less the umask), and `dress` is called with its path before it takes its place: to
    give it what the old one had.
    """
    folder = os.path.dirname(os.path.abspath(path))
    with _beside(path, data, mode) as beside:
        dress(beside)
        os.replace(beside, path)
    sync_folder(folder)


def put(path: str, data: bytes, mode: int = 0o600, dress: Callable[[str], None] = _undressed) -> None:
    """The same through links of both kinds: what a symbolic one leads to is replaced, and a file that has other names
    is written into, so that each of them shows `data`."""
    path = os.path.realpath(path)
    if _has_other_names(path):
        overwrite(path, data)
        return
    try:
        replace(path, data, mode, dress)
    except OSError as error:
        if error.errno != errno.EBUSY:  # a mount point
            raise
        overwrite(path, data)


def overwrite(path: str, data: bytes, guarded: bool = True) -> None:
    """Write `data` into the file itself; where it fails what was in it is put back.

    What was in it lies in a hidden file beside it until `data` is on the disk, for whoever has to recover from a power
    cut, unless not `guarded`: where the folder takes no file. Raises LacliError where not even that can be put back.
    """
    with open(path, "r+b", buffering=0) as file:
        before, mode = file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        with _beside(path, before, 0o600) if guarded else contextlib.nullcontext() as beside:
            try:
                _refill(file, data)
            except BaseException:
                _put_back(file, before, beside)
                raise
            finally:
                if stat.S_IMODE(os.fstat(file.fileno()).st_mode) != mode:  # a write takes set-user-id away
                    os.chmod(path, mode)
            if beside:
                os.unlink(beside)


def _put_back(file: io.FileIO, before: bytes, beside: str | None) -> None:
    try:
        _refill(file, before)
    except OSError as error:
        hint = "look at it before you go on"
        if beside:
            folder, name = os.path.split(beside)
            kept = os.path.join(folder, name.strip("."))
            os.rename(beside, kept)
            hint = f"what was in it is in {kept}"
        raise LacliError(f"{file.name} is written in part: {error.strerror}", hint) from error


def _has_other_names(path: str) -> bool:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def _refill(file: io.FileIO, data: bytes) -> None:
    file.seek(0)
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
    file.truncate()
    os.fsync(file.fileno())


def create(path: str, data: bytes, mode: int = 0o600) -> None:
    """The same where nothing is at `path`, not even a link that leads nowhere. Raises FileExistsError where something
    is."""
    with _beside(path, data, mode) as beside:
        try:
            os.link(beside, path)
        except FileExistsError:
            raise
        except (OSError, AttributeError, NotImplementedError):  # a file system, or a system, without such links
            _create_in_place(path, data, mode)
        os.unlink(beside)
    sync_folder(os.path.dirname(os.path.abspath(path)))


def _create_in_place(path: str, data: bytes, mode: int) -> None:
    descriptor = os.open(path, _FLAGS, mode)
    try:
        _fill(descriptor, data)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise


@contextlib.contextmanager
def _beside(path: str, data: bytes, mode: int) -> Iterator[str]:
    """A hidden file of these bytes beside the path, which is gone where the block fails."""
    folder, base = os.path.split(os.path.abspath(path))
    beside = os.path.join(folder, f".{base[:_NAME_LENGTH]}.lacli-{os.urandom(4).hex()}.tmp")
    descriptor = os.open(beside, _FLAGS, mode)
    try:
        _fill(descriptor, data)
        yield beside
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _fill(descriptor: int, data: bytes) -> None:
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make a rename last through a power cut, where the platform lets a folder be opened for it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
