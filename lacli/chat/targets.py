"""Where a text of a chat is written: what is there already, where links lead, which folders are missing.

Only regular files: a pipe, a terminal or a device may block for ever, and keeps nothing. Looks at the disk, so the
terminal UI calls it in a thread.
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
class WriteTarget:
    """A path that can be written."""

    path: Path
    """As given."""
    real: Path
    """With links resolved."""
    exists: bool
    link: bool
    """Whether the path is a link."""
    outside: bool
    """Whether the real path is outside the project."""
    missing: Path | None = None
    """The folder that must be created first."""
    version: tuple[int, ...] = ()
    """Identity, size and time of the file that is there; empty if there is none."""

    def __str__(self) -> str:
        """The path, with what the user might not expect of it."""
        return ", ".join([str(self.path), *self._odd])

    @property
    def is_odd(self) -> bool:
        """Whether the user must be asked, whatever is written there."""
        return bool(self._odd)

    @property
    def _odd(self) -> list[str]:
        parts = [f"a link to {self.real}"] if self.link else []
        parts += ["outside the project"] if self.outside else []
        return parts + (["inside .git"] if any(part.lower() == ".git" for part in self.real.parts) else [])

    def read(self) -> TextFile:
        """Read the file. Raises LacliError if it is no longer the file the user was asked about."""
        file = TextFile.read(self.path)
        if file.stamp is None or file.stamp.path != str(self.real):
            raise _changed(self)
        return file

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings to show before a change is made there."""
        odd = (str(self),) if self.is_odd else ()
        return odd if self.missing is None else (*odd, f"there is no folder {self.missing} yet; it is made, too")

    def question(self, what: str) -> str:
        """What to ask before `what` is written there; empty if nothing need be asked."""
        if self.exists:
            return f"{self} exists; overwrite it with {what}?"
        if self.missing is not None:
            return f"there is no folder {self.missing}; make it, and put {what} into {self}?"
        return f"put {what} into {self}?" if self.is_odd else ""


def file_typed(typed: str) -> Path:
    """The path of a file as typed. Raises UsageError if it ends like a folder."""
    path = path_of(typed)
    if typed.rstrip("\"'").endswith(("/", os.sep, "/.", os.sep + ".")):
        raise UsageError(f"{typed} is a folder", "give the name of a file in it")
    return path


def write_target(path: Path, folder: Path | None = None) -> WriteTarget:
    """Look at a path from a project's folder. Raises UsageError if it cannot be written."""
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
    return WriteTarget(path, real, mode is not None, link, _is_outside(real, folder), missing, version)


def put(target: WriteTarget, data: bytes) -> None:
    """Write the bytes, creating missing folders, which are removed again if it fails.

    Raises LacliError, also if what is there has changed since the user was asked.
    """
    now = write_target(target.path)
    if (now.real, now.missing, now.version) != (target.real, target.missing, target.version):
        raise _changed(target)
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
            raise _changed(target) from None
        if isinstance(error, OSError):
            raise unwritable(target.path, error, "give another path") from None
        raise


def _changed(target: WriteTarget) -> LacliError:
    return LacliError(
        f"what is at {target.path} is not what it was when you were asked; it is left as it is", "do it again"
    )


def completions(typed: str) -> list[str]:
    """Completions of a typed path; none if its folder cannot be read."""
    ahead = typed[: typed.rfind("/") + 1]
    return [ahead + name for name in entries(typed)]


def _found(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _missing(path: Path, real: Path) -> Path | None:
    """The folder that must be created. Raises UsageError if it cannot be."""
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
