"""The files that go with the next question, as chips above the prompt. Told them by `show`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from lacli.events import Attachment
from lacli_tui.widgets.message import described


class Chips(Static):
    """Hidden while there are none."""

    DEFAULT_CSS = """
    Chips { height: auto; max-height: 3; padding: 0 1; color: $text-secondary; display: none; }
    """

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__("", markup=False, id=id)
        self._label = ""
        self._files: tuple[Attachment, ...] = ()

    def show(self, files: Sequence[Attachment]) -> None:
        """These go with the next question."""
        self._files = tuple(files)
        self._draw()

    def label(self, text: str) -> None:
        """What the draft is, where it is no new question."""
        self._label = text
        self._draw()

    def _draw(self) -> None:
        parts = [f"[{self._label}]"] if self._label else []
        parts += [f"[{number}] {described(each)}" for number, each in enumerate(self._files, 1)]
        self.update(Text("  ".join(parts)))
        self.display = bool(parts)
