"""What is to be said about this moment, above the prompt: it goes by itself with a key pressed once it could be read.

What belongs to the conversation stands in the transcript. Told by `tell`; `passes` is called at each key.
"""

from __future__ import annotations

import time

from rich.text import Text
from textual.widgets import Static

from lacli_tui.glyphs import drawable
from lacli_tui.sanitize import shown

_LEAST_S = 1.0
"""Whoever was typing when it came has not read it with the next key."""
_MOST = 4
"""Lines of news at a time; a longer one is shown whole, as far as there is room."""


class Moment(Static):
    """Some lines, the newest first, none twice."""

    DEFAULT_CSS = """
    Moment { height: auto; max-height: 8; padding: 0 2; color: $text-muted; display: none; }
    """
    _STYLES = {"error": "bold", "warning": "bold"}  # noqa: RUF012 - read only

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__("", id=id, markup=False)
        self._lines: list[tuple[str, str, str]] = []
        self.since = 0.0
        """When the last of it came."""

    def tell(self, text: str, level: str = "note", hint: str = "") -> None:
        """One line more, with what to do about it; where it is there already, nothing more is said."""
        line = (text, level, hint)
        self._lines = [line, *(each for each in self._lines if each != line)][:_MOST]
        self.since = time.monotonic()
        self._show()

    def take_back(self, text: str) -> None:
        """This is no longer so."""
        self._lines = [each for each in self._lines if each[0] != text]
        self._show()

    @property
    def said(self) -> list[str]:
        """What is being said."""
        return [text for text, _, _ in self._lines]

    def passes(self) -> None:
        """A key was pressed."""
        if self._lines and time.monotonic() - self.since >= _LEAST_S:
            self.clear()

    def clear(self) -> None:
        """It is over."""
        if self._lines:
            self._lines = []
            self._show()

    def _show(self) -> None:
        whole = Text()
        for text, level, hint in self._lines:
            if whole:
                whole.append("\n")
            mark = f"{level}: " if level in self._STYLES else ""
            whole.append(drawable(shown(mark + text)), self._STYLES.get(level, ""))
            if hint:
                whole.append(drawable(shown(f"\n{hint}")), "dim")
        self.update(whole)
        self.display = bool(self._lines)
