"""The history of `lacli chat` for the arrow keys: `lacli.chat.history` as a history of prompt_toolkit.

Imported only when a conversation begins, as it needs prompt_toolkit.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History, InMemoryHistory

from lacli.chat.history import Typed, open_typed
from lacli.cli.terminal import diagnostics
from lacli.errors import LacliError


class PrivateHistory(History):
    """A private file. Entries that may not be stored stay in memory."""

    def __init__(self, typed: Typed) -> None:
        super().__init__()
        self.typed = typed

    def load_history_strings(self) -> Iterable[str]:
        return reversed(self.typed.load())

    def store_string(self, string: str) -> None:
        self.typed.store(string)


def open_history(keep: bool) -> History:
    """The history in the state folder; in memory if it is not to be kept or the folder cannot be written."""
    try:
        typed = open_typed(keep)
    except (OSError, LacliError) as error:
        why = error.message if isinstance(error, LacliError) else "the state folder cannot be written"
        diagnostics.note(f"what is typed here is not remembered: {why}")
        return InMemoryHistory()
    return InMemoryHistory() if typed.file is None else PrivateHistory(typed)


def file_of(history: History) -> Path | None:
    """Its file, which the user may delete; None if there is none."""
    return history.typed.file if isinstance(history, PrivateHistory) else None
