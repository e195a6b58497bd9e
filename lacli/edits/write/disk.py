"""Reading and replacing the one file that is edited. Bytes only.

A file is replaced by a rename: whoever reads it, and whatever is killed or full, sees the old bytes or the new ones.
One that has other names (hard links) is written into instead, see `lacli.storage.atomic`: they are to stay the same
file.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lacli import streams
from lacli.errors import LacliError, PromptTooLong, UsageError, unwritable
from lacli.storage import atomic
from lacli.storage.lock import lock_file

MOST_BYTES = 1 << 26
"""Beyond every model's context by far."""
_LOCK_WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file as it was found."""

    path: str
    """Where it really lies, links followed."""
    mode: int
    owner: tuple[int, int]


def read(path: str | Path, most_bytes: int = MOST_BYTES, streams_too: bool = False) -> tuple[bytes, Stamp | None]:
    """The bytes of a regular file, or with `streams_too` of a pipe, of which nothing stays that could be replaced.

    Raises UsageError where it is neither, PromptTooLong where it has too many.
    """
    name = str(path)
    try:
        if streams_too and streams.is_stream(name):
            return _all_of_stream(name, most_bytes), None
        if not name:  # would be the current folder
            raise FileNotFoundError
        real = os.path.realpath(path)
        found = os.stat(real)
        if stat.S_ISDIR(found.st_mode):
            raise UsageError(f"{name} is a directory", "give a file")
        if not stat.S_ISREG(found.st_mode):  # may have no end, or wait for ever
            raise UsageError(f"{name} is not a regular file", "give a file of text")
        with open(real, "rb") as file:
            data = file.read(most_bytes + 1)
    except FileNotFoundError:
        raise UsageError(f"there is no file {name or repr(name)}", "check the path") from None
    except ValueError:  # a NUL in the name
        raise UsageError(f"there is no file {name!r}", "check the path") from None
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}", "give a file that can be read") from None
    if len(data) > most_bytes:
        raise _too_long(name, most_bytes)
    return data, Stamp(real, stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid))


def _all_of_stream(name: str, most_bytes: int) -> bytes:
    data = streams.read(name, most_bytes)
    if len(data) > most_bytes:
        raise _too_long(name, most_bytes)
    return data


def _too_long(name: str, most_bytes: int) -> PromptTooLong:
    return PromptTooLong(f"{name} has more than {most_bytes:,} bytes", "give the part that matters")


def check_writable(stamp: Stamp, name: str) -> None:
    """Raise UsageError for a file that its owner protects, though a rename could replace it."""
    if not stamp.mode & 0o222 or (os.path.exists(stamp.path) and not os.access(stamp.path, os.W_OK)):
        raise UsageError(f"{name} is read-only", "make it writable (chmod u+w)")


def replace(stamp: Stamp, name: str, before: bytes, after: bytes, backup: str | None = None) -> None:
    """Put `after` where `before` is, at once or not at all; see `TextFile.write`."""
    with _translated(name), _locked(stamp.path):
        now = _found(stamp.path, before)
        if now is None:
            raise LacliError(
                f"{name} was changed meanwhile and is left as it is", "do it again, with what is there now"
            )
        check_writable(now, name)
        if backup:
            atomic.replace(stamp.path + backup, before, copy_metadata=lambda beside: _copy_metadata(beside, now))
        _put(stamp.path, after, now)


def _found(path: str, before: bytes) -> Stamp | None:
    """The file as it is now, mode and owner too; None where it does not hold these bytes any more."""
    now = _stamp(path)
    if now is None:
        return None
    with open(path, "rb") as file:
        return now if file.read(len(before) + 1) == before else None


def _stamp(path: str) -> Stamp | None:
    """The regular file that is there; opening anything else might take for ever."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    is_file = stat.S_ISREG(found.st_mode)
    return Stamp(path, stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid)) if is_file else None


def put(path: str | Path, data: bytes) -> None:
    """Make a file of these bytes, or put them in the place of what is in it, at once or not at all; through links.

    What is no regular file (a device, a pipe, a descriptor of ours) is written to as it stands. Raises LacliError.
    """
    try:
        if streams.is_stream(str(path)):
            _pour(str(path), data)
            return
        real = os.path.realpath(path)
        now = _stamp(real)
        if now is not None:
            check_writable(now, str(path))
            _put_or_overwrite(real, data, now)
        elif os.path.exists(real):
            _pour(real, data)
        else:
            atomic.replace(real, data, 0o666)
    except OSError as error:
        raise unwritable(path, error, "give another path") from None


def _pour(path: str, data: bytes) -> None:
    with streams.writer(path) as stream:
        stream.write(data)


def make(path: str | Path, data: bytes) -> None:
    """Make a file of these bytes, at once or not at all. Raises OSError; FileExistsError where anything is there."""
    atomic.create(str(path), data, 0o666)


def _put_or_overwrite(path: str, data: bytes, now: Stamp) -> None:
    """Replace the file; where its folder takes no new one, write into it."""
    try:
        _put(path, data, now)
    except PermissionError:
        if os.access(os.path.dirname(path), os.W_OK):
            raise
        atomic.overwrite(path, data, guarded=False)


def _put(path: str, data: bytes, like: Stamp) -> None:
    atomic.put(path, data, copy_metadata=lambda beside: _copy_metadata(beside, like))


def _copy_metadata(temporary: str, like: Stamp) -> None:
    """Give the new file the old one's owner, attributes and mode, as far as the system lets us."""
    if hasattr(os, "chown") and (os.geteuid(), os.getegid()) != like.owner:
        with contextlib.suppress(OSError):
            os.chown(temporary, -1, like.owner[1])
        with contextlib.suppress(OSError):
            os.chown(temporary, like.owner[0], -1)
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for key in os.listxattr(like.path):
                with contextlib.suppress(OSError):
                    os.setxattr(temporary, key, os.getxattr(like.path, key))
    os.chmod(temporary, like.mode)


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Alone with the file among all lacli, where the system has such locks; a short wait, then without."""
    if not os.path.isfile(path):  # gone, or something else by now
        yield
        return
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below, and may be missing
    except FileNotFoundError:
        yield
        return
    with file:
        lock_file(file, _LOCK_WAIT_S)
        yield


@contextlib.contextmanager
def _translated(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(name, error, "check its disk and folder", state="it is as it was") from None
