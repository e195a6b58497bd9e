"""Where a text of a chat is put: what is there already, where it really lies, which folders are missing.

A regular file or nothing: a pipe, a terminal or a device may wait for ever, and holds nothing afterwards. Looks at the
disk, so the terminal UI calls it behind. Called by /save and /apply of both front ends, which ask what `question` says.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lacli.edits import disk
from lacli.errors import UsageError, unwritable
from lacli.verbs.values import entries

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

    def __str__(self) -> str:
        """The path, and what a reader of it would not expect."""
        parts = [str(self.path)]
        parts += [f"a link to {self.real}"] if self.link else []
        parts += ["outside the project"] if self.outside else []
        return ", ".join(parts)

    def question(self, what: str) -> str:
        """What is asked before this is put there; empty where nothing need be."""
        if self.exists:
            return f"{self} exists; overwrite it with {what}?"
        if self.missing is not None:
            return f"there is no folder {self.missing}; make it, and put {what} into {self}?"
        return f"put {what} into {self}?" if self.link else ""


def place_of(path: Path, folder: Path | None = None) -> Place:
    """What this path is, seen from a project's folder. Raises UsageError where nothing can be written there."""
    try:
        real = Path(os.path.realpath(path))
        mode = _mode(path)
    except ValueError:  # a NUL in the name
        raise UsageError(f"{str(path)!r} is no path", "check it") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "give another path") from None
    if mode is not None and stat.S_ISDIR(mode):
        raise UsageError(f"{path} is a folder", "give the name of a file in it")
    streams = os.path.abspath(path).startswith(_STREAMS)
    if streams or (mode is not None and not stat.S_ISREG(mode)):
        raise UsageError(f"{path} is not a regular file", "give the name of a file")
    if mode is not None:
        disk.check_writable(disk.Stamp(str(real), stat.S_IMODE(mode), (0, 0)), str(path))
    link = real != Path(os.path.realpath(path.parent)) / path.name
    missing = None if mode is not None else _missing(path, real)
    return Place(path, real, mode is not None, link, _is_outside(real, folder), missing)


def put(place: Place, text: str) -> None:
    """Put the text there, with the folders that are missing. Raises LacliError."""
    now = place_of(place.path)
    try:
        now.real.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(place.path, error, "give another path") from None
    disk.put(now.real, text.encode("utf-8", "replace"))


def completions(typed: str) -> list[str]:
    """What a path that is being typed may become; nothing where its folder cannot be read."""
    ahead = typed[: typed.rfind("/") + 1]
    return [ahead + name for name in entries(typed)]


def _mode(path: Path) -> int | None:
    try:
        return os.stat(path).st_mode
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
    from lacli.pool.identity import project_root

    root = project_root(folder) if folder is not None else None
    return root is not None and not real.is_relative_to(os.path.realpath(root))
