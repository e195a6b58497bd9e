"""The line above the prompt: queued questions, slow work, whether the draft replaces a question, attached files."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from lacli.events import Attachment
from lacli_tui.glyphs import to_terminal
from lacli_tui.sanitize import visible
from lacli_tui.widgets.message import described

_MOST = 36
"""The most characters shown of a queued question."""


class Chips(Static):
    """Hidden while it is empty."""

    DEFAULT_CSS = """
    Chips { height: auto; max-height: 3; padding: 0 1; color: $text-secondary; display: none; }
    """

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__("", markup=False, id=id)
        self._label = ""
        self._files: tuple[Attachment, ...] = ()
        self._waits: tuple[str, ...] = ()
        self._work = ""

    def show(self, files: Sequence[Attachment]) -> None:
        """Show the files that go with the next question."""
        self._files = tuple(files)
        self._draw()

    def label(self, text: str) -> None:
        """Show what the draft is, if it is no new question."""
        self._label = text
        self._draw()

    def work(self, text: str) -> None:
        """Show what takes long; an empty text hides it."""
        self._work = text
        self._draw()

    def wait(self, questions: Sequence[str]) -> None:
        """Show the queued questions."""
        self._waits = tuple(questions)
        self._draw()

    def _draw(self) -> None:
        parts = [f"[next: {_brief(each)}]" for each in self._waits]
        parts += ["up takes it back"] if parts else []
        parts += [f"[{visible(self._work)}]"] if self._work else []
        parts += [f"[{self._label}]"] if self._label else []
        parts += [f"[{number}] {described(each)}" for number, each in enumerate(self._files, 1)]
        self.update(Text("  ".join(parts)))
        self.display = bool(parts)


def _brief(text: str) -> str:
    words = " ".join(visible(text).split())
    return words if len(words) <= _MOST else words[: _MOST - 1].rstrip() + to_terminal("…")
