"""The ignore files of a project's folders, in gitignore's syntax, for files that git is not asked about.

Reads the ignore files of the given names, once each, and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.storage import files as disk

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

LACLIIGNORE = ".lacliignore"
_MAX_BYTES = 1 << 16
_MOST_STARS = 3


class IgnoreFiles:
    """Whether the ignore files between the root and a name exclude it; the nearest one with a match decides."""

    def __init__(self, root: Path, names: Sequence[str]) -> None:
        self._root = root
        self._names = names
        self._specs: dict[str, GitIgnoreSpec | None] = {}
        self._folders: dict[str, bool] = {"": False}

    def ignores(self, name: str) -> bool:
        """`name` is relative to the root; a folder's ends in a slash."""
        parent = name.rstrip("/").rpartition("/")[0]
        excluded = self._folders.get(parent)
        if excluded is None:
            excluded = self._folders[parent] = self.ignores(parent + "/")
        # As in git, what an excluded folder holds cannot be taken back in.
        return excluded or self._matches(name, parent)

    def _matches(self, name: str, folder: str) -> bool:
        while True:
            spec = self._spec(folder)
            if spec is not None:
                told = spec.check_file(name[len(folder) + 1 if folder else 0 :]).include
                if told is not None:
                    return told
            if not folder:
                return False
            folder = folder.rpartition("/")[0]

    def _spec(self, folder: str) -> GitIgnoreSpec | None:
        if folder not in self._specs:
            lines = [line for each in self._names for line in _lines(os.path.join(self._root, folder, each))]
            self._specs[folder] = _compile(lines) if lines else None
        return self._specs[folder]


def _compile(lines: list[str]) -> GitIgnoreSpec | None:
    from pathspec import GitIgnoreSpec  # deferred: 30 ms

    sound = []
    for line in map(_limit_stars, lines):
        with contextlib.suppress(ValueError):  # no pattern: the others still count
            GitIgnoreSpec.from_lines([line])
            sound.append(line)
    return GitIgnoreSpec.from_lines(sound)


def _limit_stars(line: str) -> str:
    """A pattern with few stars, which matches fast; dropping the rest of it makes it match more."""
    stars = [found.end() for found in re.finditer(r"\*+", line)]
    if len(stars) <= _MOST_STARS:
        return line
    return "" if line.startswith("!") else line[: stars[_MOST_STARS - 1]]


def _lines(path: str) -> list[str]:
    """The lines of an ignore file; none if it cannot be read."""
    try:
        return os.fsdecode(disk.read(Path(path), limit=_MAX_BYTES)).splitlines()
    except (OSError, ValueError):
        return []
