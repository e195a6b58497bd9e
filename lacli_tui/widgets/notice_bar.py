"""Notices above the prompt: they disappear with the first key pressed after they could be read.

What belongs to the conversation stands in the transcript.
"""

from __future__ import annotations

import time

from rich.text import Text
from textual.widgets import Static

from lacli_tui.glyphs import to_terminal
from lacli_tui.sanitize import visible

_LEAST_S = 1.0
"""Whoever was typing when it appeared has not read it by the next key."""
_MOST = 4
"""Notices at a time; a long one is shown whole, as far as there is room."""


class NoticeBar(Static):
    """The newest notice first, none twice."""

    DEFAULT_CSS = """
    NoticeBar { height: auto; max-height: 8; padding: 0 2; color: $text-muted; display: none; }
    """
    _STYLES = {"error": "bold", "warning": "bold"}  # noqa: RUF012 - read only

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__("", id=id, markup=False)
        self._lines: list[tuple[str, str, str]] = []
        self.since = 0.0
        """When the newest was shown."""

    def show(self, text: str, level: str = "note", hint: str = "") -> None:
        """Show a notice and what to do about it; one that is already there moves to the top."""
        line = (text, level, hint)
        self._lines = [line, *(each for each in self._lines if each != line)][:_MOST]
        self.since = time.monotonic()
        self._show()

    def withdraw(self, text: str) -> None:
        """Remove a notice that no longer holds."""
        self._lines = [each for each in self._lines if each[0] != text]
        self._show()

    @property
    def texts(self) -> list[str]:
        """The notices that are shown."""
        return [text for text, _, _ in self._lines]

    def key_pressed(self) -> None:
        """Clear the notices, if they could be read."""
        if self._lines and time.monotonic() - self.since >= _LEAST_S:
            self.clear()

    def clear(self) -> None:
        """Clear the notices."""
        if self._lines:
            self._lines = []
            self._show()

    def _show(self) -> None:
        whole = Text()
        for text, level, hint in self._lines:
            if whole:
                whole.append("\n")
            mark = f"{level}: " if level in self._STYLES else ""
            whole.append(to_terminal(visible(mark + text)), self._STYLES.get(level, ""))
            if hint:
                whole.append(to_terminal(visible(f"\n{hint}")), "dim")
        self.update(whole)
        self.display = bool(self._lines)
