"""Where a text of a chat is put: what is there already, where it really lies, which folders are missing.

A regular file or nothing: a pipe, a terminal or a device may wait for ever, and holds nothing afterwards. Looks at the
disk, so the terminal UI calls it behind.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lacli.chat.slash import path_of
from lacli.chat.values import entries
from lacli.edits.write import disk
from lacli.edits.write.textfile import TextFile
from lacli.errors import LacliError, UsageError, unwritable

_STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
"""The program's own, whatever they are."""


@dataclass(frozen=True, slots=True)
class Place:
    """A path that can be written to."""

    path: Path
    """As it was given."""
    real: Path
    """Links followed."""
    exists: bool
    link: bool
    """Whether it leads elsewhere than it says."""
    outside: bool
    """Whether it really lies outside the project."""
    missing: Path | None = None
    """The folder that is to be made for it."""
    version: tuple[int, ...] = ()
    """Which file is there, and since when; empty where none is."""

    def __str__(self) -> str:
        """The path, and what a reader of it would not expect."""
        return ", ".join([str(self.path), *self._odd])

    @property
    def is_odd(self) -> bool:
        """Whether it is to be asked about, whatever is put there."""
        return bool(self._odd)

    @property
    def _odd(self) -> list[str]:
        parts = [f"a link to {self.real}"] if self.link else []
        parts += ["outside the project"] if self.outside else []
        return parts + (["inside .git"] if any(part.lower() == ".git" for part in self.real.parts) else [])

    def read(self) -> TextFile:
        """The text that is there. Raises LacliError where it is another file than the user was told of."""
        file = TextFile.read(self.path)
        if file.stamp is None or file.stamp.path != str(self.real):
            raise _changed(self)
        return file

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be known before a change that is shown is made there."""
        odd = (str(self),) if self.is_odd else ()
        return odd if self.missing is None else (*odd, f"there is no folder {self.missing} yet; it is made, too")

    def question(self, what: str) -> str:
        """What is asked before this is put there; empty where nothing need be."""
        if self.exists:
            return f"{self} exists; overwrite it with {what}?"
        if self.missing is not None:
            return f"there is no folder {self.missing}; make it, and put {what} into {self}?"
        return f"put {what} into {self}?" if self.is_odd else ""


def file_typed(typed: str) -> Path:
    """The file that is meant by a path as it was typed. Raises UsageError where that is the name of a folder."""
    path = path_of(typed)
    if typed.rstrip("\"'").endswith(("/", os.sep, "/.", os.sep + ".")):
        raise UsageError(f"{typed} is a folder", "give the name of a file in it")
    return path


def place_of(path: Path, folder: Path | None = None) -> Place:
    """What this path is, seen from a project's folder. Raises UsageError where nothing can be written there."""
    try:
        real = Path(os.path.realpath(path))
        found = _found(path)
    except ValueError:  # a NUL in the name
        raise UsageError(f"{str(path)!r} is no path", "check it") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "give another path") from None
    mode = None if found is None else found.st_mode
    if mode is not None and stat.S_ISDIR(mode):
        raise UsageError(f"{path} is a folder", "give the name of a file in it")
    streams = os.path.abspath(path).startswith(_STREAMS)
    if streams or (mode is not None and not stat.S_ISREG(mode)):
        raise UsageError(f"{path} is not a regular file", "give the name of a file")
    if mode is not None:
        disk.check_writable(disk.Stamp(str(real), stat.S_IMODE(mode), (0, 0)), str(path))
    link = real != Path(os.path.realpath(path.parent)) / path.name
    missing = None if mode is not None else _missing(path, real)
    version = () if found is None else (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    return Place(path, real, mode is not None, link, _is_outside(real, folder), missing, version)


def put(place: Place, data: bytes) -> None:
    """Put the bytes there, with the folders that are missing; where it fails none of them stays.

    Raises LacliError, also where what is there is not what the place was when the user was asked.
    """
    now = place_of(place.path)
    if (now.real, now.missing, now.version) != (place.real, place.missing, place.version):
        raise _changed(place)
    if now.exists:
        disk.put(now.real, data)
        return
    made: list[Path] = []
    try:
        for folder in reversed([each for each in _above(now.real.parent) if not os.path.lexists(each)]):
            folder.mkdir()
            made.append(folder)
        disk.make(now.real, data)
    except BaseException as error:
        for folder in reversed(made):
            with contextlib.suppress(OSError):  # somebody else's file is in it by now
                folder.rmdir()
        if isinstance(error, FileExistsError):
            raise _changed(place) from None
        if isinstance(error, OSError):
            raise unwritable(place.path, error, "give another path") from None
        raise


def _changed(place: Place) -> LacliError:
    return LacliError(
        f"what is at {place.path} is not what it was when you were asked; it is left as it is", "do it again"
    )


def completions(typed: str) -> list[str]:
    """What a path that is being typed may become; nothing where its folder cannot be read."""
    ahead = typed[: typed.rfind("/") + 1]
    return [ahead + name for name in entries(typed)]


def _found(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _missing(path: Path, real: Path) -> Path | None:
    """The folder to be made. Raises UsageError where one cannot be."""
    if real.parent.is_dir():
        return None
    there = next(each for each in _above(real.parent) if os.path.lexists(each))
    if not there.is_dir():
        raise UsageError(f"{there} is no folder, so {path} cannot be in it", "give another path")
    return path.parent if real.parent == Path(os.path.realpath(path.parent)) else real.parent


def _above(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.parents


def _is_outside(real: Path, folder: Path | None) -> bool:
    from lacli.project.root import project_root

    if folder is None:
        return False
    root = project_root(folder) or folder  # the home folder and the like are no projects
    return not real.is_relative_to(os.path.realpath(root))
