"""Replacing a file as a whole: whoever reads it, and whatever is killed or full, finds the old bytes or the new ones.

Every file that lacli replaces, its own and the user's, is written here. Everything may raise OSError, which the callers
translate.

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
from typing import BinaryIO

from lacli.errors import LacliError

AnyPath = str | os.PathLike[str]

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NAME_LENGTH = 40
"""Letters of the name that the file beside has, too: names are limited to 255 bytes."""


def _leave_metadata(beside: str) -> None:
    """The new file keeps the mode and owner it was made with."""


def replace(
    path: AnyPath,
    data: bytes,
    mode: int = 0o600,
    copy_metadata: Callable[[str], None] = _leave_metadata,
    beside: AnyPath | None = None,
    durable: bool = True,
) -> None:
    """Put `data` into the file at `path`, by way of one beside it; where it fails nothing has changed.

    The new file is made with `mode` (less the umask), and `copy_metadata` is called with its path before it takes its
    place: to give it what the old one had. `beside` names it, for callers that sweep up what a killed process leaves;
    it must be nobody else's, and what lies there is overwritten. Not `durable`, nothing waits for the disk: for what is
    checked when it is read and can be made again, as a power cut may leave it short.
    """
    with _beside(path, data, mode, beside, durable) as written:
        copy_metadata(written)
        os.replace(written, path)
    if durable:
        sync_folder(_folder_of(path))


@contextlib.contextmanager
def writing(path: AnyPath, beside: AnyPath, mode: int = 0o600) -> Iterator[BinaryIO]:
    """As `replace`, for a file too large to have in memory: the block fills `beside`, and may look at it again.

    Where the block fails, `beside` goes and `path` is as it was.
    """
    descriptor = _new_file(beside, mode)
    with _removed_on_failure(beside):
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    sync_folder(_folder_of(path))


def move(source: AnyPath, target: AnyPath) -> None:
    """Put a file or folder that is complete into its place."""
    os.replace(source, target)
    sync_folder(_folder_of(target))


def put(path: AnyPath, data: bytes, mode: int = 0o600, copy_metadata: Callable[[str], None] = _leave_metadata) -> None:
    """As `replace`, through links of both kinds: the target of a symbolic one is replaced, and a file that has other
    names is written into, so that each of them shows `data`."""
    path = os.path.realpath(path)
    if _has_other_names(path):
        overwrite(path, data)
        return
    try:
        replace(path, data, mode, copy_metadata)
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
    """Make a new file where nothing is at `path`, not even a link that leads nowhere; otherwise FileExistsError."""
    with _beside(path, data, mode) as beside:
        try:
            os.link(beside, path)
        except FileExistsError:
            raise
        except (OSError, AttributeError, NotImplementedError):  # a file system, or a system, without such links
            _create_in_place(path, data, mode)
        os.unlink(beside)
    sync_folder(_folder_of(path))


def _create_in_place(path: str, data: bytes, mode: int) -> None:
    descriptor = os.open(path, _FLAGS, mode)
    with _removed_on_failure(path):
        _fill(descriptor, data)


@contextlib.contextmanager
def _beside(path: AnyPath, data: bytes, mode: int, name: AnyPath | None = None, durable: bool = True) -> Iterator[str]:
    """A file of these bytes beside the path, hidden unless it is given a name; it is gone where the block fails."""
    if name is None:
        folder, base = os.path.split(os.path.abspath(path))
        name = os.path.join(folder, f".{base[:_NAME_LENGTH]}.lacli-{os.urandom(4).hex()}.tmp")
    descriptor = _new_file(name, mode)
    with _removed_on_failure(name):
        _fill(descriptor, data, durable)
        yield os.fspath(name)


def _new_file(path: AnyPath, mode: int) -> int:
    """A descriptor of an empty file; what a killed process has left of this name goes."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, _FLAGS, mode)


@contextlib.contextmanager
def _removed_on_failure(path: AnyPath) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise


def _fill(descriptor: int, data: bytes, durable: bool = True) -> None:
    """Write, bring to the disk and close; a short write is continued."""
    try:
        write_all(descriptor, data, durable)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes, durable: bool = True) -> None:
    """Write and bring to the disk; a short write is continued."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    if durable:
        os.fsync(descriptor)


def _folder_of(path: AnyPath) -> str:
    return os.path.dirname(os.path.abspath(path))


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make a rename last through a power cut, where the platform lets a folder be opened for it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
