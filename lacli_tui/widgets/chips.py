"""What stands above the prompt: questions that wait for the reply that is written, what the draft is where it is no new
question, and the files that go with it. Told them by `wait`, `label` and `show`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from lacli.events import Attachment
from lacli_tui.glyphs import to_terminal
from lacli_tui.sanitize import visible
from lacli_tui.widgets.message import described

_MOST = 36
"""Characters of a question that waits."""


class Chips(Static):
    """Hidden while there are none."""

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
        """These go with the next question."""
        self._files = tuple(files)
        self._draw()

    def label(self, text: str) -> None:
        """What the draft is, where it is no new question."""
        self._label = text
        self._draw()

    def work(self, text: str) -> None:
        """What takes long; empty where nothing does."""
        self._work = text
        self._draw()

    def wait(self, questions: Sequence[str]) -> None:
        """These are asked when the reply has ended."""
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
