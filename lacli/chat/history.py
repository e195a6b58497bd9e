"""The history of typed lines, for the arrow keys: a private file that both front ends share, or none.

The file has prompt_toolkit's format. The check for secrets is imported when the first line is stored, long after the
prompt was drawn.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from lacli import paths
from lacli.errors import LacliError

_MOST_BYTES = 1 << 20
"""Size limit of the file, which is read before the first prompt; the oldest entries go first."""


class Typed:
    """A file readable by its owner alone; neither what looks like a secret nor a secret of the project is stored."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        """None if nothing is stored."""
        self._refuse: Callable[[str], object] | None = None

    def load(self) -> list[str]:
        """All entries, the oldest first."""
        if self.file is None:
            return []
        found: list[str] = []
        lines: list[str] = []
        with contextlib.suppress(OSError), open(self.file, encoding="utf-8", errors="replace", newline="\n") as opened:
            for line in (*opened, ""):
                if line.startswith("+"):
                    lines.append(line[1:])
                elif lines:
                    found.append("".join(lines)[:-1])
                    lines = []
        return found

    def store(self, text: str) -> None:
        """Store an entry, unless it holds a secret."""
        if self.file is None:
            return
        self._refuse = self._refuse or _refuser()
        if self._refuse(text) is None:
            entry = f"\n# {time.strftime('%Y-%m-%d %H:%M:%S')}\n" + "".join(f"+{line}\n" for line in text.split("\n"))
            with contextlib.suppress(OSError), open(self.file, "ab") as opened:
                opened.write(entry.encode("utf-8", "replace"))


def open_typed(keep: bool) -> Typed:
    """The history in the state folder, or one without a file if nothing is to be kept.

    Raises OSError or LacliError if the folder cannot be written.
    """
    from lacli.sessions import switch

    if not keep or not switch.is_on():
        return Typed(None)
    folder = paths.state_dir()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / "chat_history"
    file.touch(mode=0o600)
    file.chmod(0o600)
    if not file.is_file():  # to open a named pipe would wait for ever
        raise LacliError(f"{file} is no regular file")
    if file.stat().st_size > _MOST_BYTES:
        _shorten(file)
    return Typed(file)


def _shorten(file: Path) -> None:
    """Keep the newest half of the limit, from the start of an entry."""
    from lacli.storage import atomic

    with open(file, "rb") as opened:
        opened.seek(-_MOST_BYTES // 2, os.SEEK_END)
        newest = opened.read()
    entry = newest.find(b"\n# ")
    atomic.replace(file, newest[entry:] if entry >= 0 else b"")


def _refuser() -> Callable[[str], object]:
    from lacli.pool import secrets
    from lacli.project.root import project_root
    from lacli.project.values import project_refuser

    root = project_root(Path("."))
    return secrets.refuse if root is None else project_refuser(root)
