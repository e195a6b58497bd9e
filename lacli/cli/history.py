"""What was typed in `lacli chat`, for the arrow keys: a private file, or memory where nothing is to be kept.

Imported only when a conversation begins, as it needs prompt_toolkit; what judges secrets is imported with the first
line that is kept, when the prompt has long been drawn. Called by `chat`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from lacli import paths
from lacli.cli import diagnostics
from lacli.errors import LacliError

_MOST_BYTES = 1 << 20
"""Of the file: it is read before the first prompt. What is beyond goes, the oldest first."""


class PrivateHistory(FileHistory):
    """A file readable by its owner alone; what looks like a secret, or is one of the project's, stays in memory."""

    def __init__(self, file: Path) -> None:
        super().__init__(str(file))
        self._refuse: Callable[[str], object] | None = None

    def store_string(self, string: str) -> None:
        self._refuse = self._refuse or _refuser()
        if self._refuse(string) is None:
            with contextlib.suppress(OSError):
                super().store_string(string)


def open_history(keep: bool) -> History:
    """The history in the state folder; in memory where it is not to be kept or the folder cannot be written."""
    try:
        from lacli.sessions import switch

        if not keep or not switch.is_on():
            return InMemoryHistory()
        folder = paths.state_dir()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = folder / "chat_history"
        file.touch(mode=0o600)
        file.chmod(0o600)
        if file.stat().st_size > _MOST_BYTES:
            _shorten(file)
        return PrivateHistory(file)
    except (OSError, LacliError):
        diagnostics.note("what is typed here is not remembered: the state folder cannot be written")
        return InMemoryHistory()


def _shorten(file: Path) -> None:
    """Keep the newest half of what may be kept, from where an entry begins."""
    from lacli.pool import files

    with open(file, "rb") as opened:
        opened.seek(-_MOST_BYTES // 2, os.SEEK_END)
        newest = opened.read()
    entry = newest.find(b"\n# ")
    files.replace(file, file.with_name(f".{file.name}.{os.getpid()}"), newest[entry:] if entry >= 0 else b"")


def file_of(history: History) -> Path | None:
    """The file that a user may delete; None where there is none."""
    return Path(str(history.filename)) if isinstance(history, PrivateHistory) else None


def _refuser() -> Callable[[str], object]:
    from lacli.pool import secrets
    from lacli.pool.identity import project_root
    from lacli.project.values import project_refuser

    root = project_root(Path("."))
    return secrets.refuse if root is None else project_refuser(root)
