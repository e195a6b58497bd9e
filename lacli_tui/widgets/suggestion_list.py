"""A short list of what fits the word being typed, above the prompt and over the transcript, which does not move.

The prompt, which keeps the focus and all keys, marks and takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events

from lacli.chat.suggestions import Suggestion
from lacli_tui.glyphs import is_ascii_terminal
from lacli_tui.widgets.choices import Choice, Choices

MOST_ROWS = 8
_EDGE = 1
_LEAST_WIDTH = 44
_BESIDE, _GAP = 4, 2
"""Cells beside a title, and between it and its note."""


class SuggestionList(Choices):
    """Hidden while nothing fits."""

    DEFAULT_CSS = """
    SuggestionList {
        overlay: screen;
        display: none;
        max-width: 100%;
        background: $panel;
        border-top: solid $line;
        &.-plain { border-top: ascii $line; }
        &:ansi { background: ansi_default; }
    }
    """

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self._suggestions: Sequence[Suggestion] = ()
        self.was_moved = False
        """Whether the user has moved the mark."""
        self.set_class(is_ascii_terminal(), "-plain")

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    @property
    def marked(self) -> Suggestion | None:
        """The marked suggestion, if any is shown."""
        return self._suggestions[self._at] if self.is_open else None

    def suggest(self, suggestions: Sequence[Suggestion], room: int) -> None:
        """Show these, in at most so many rows; hide the list if there are none."""
        rows = min(len(suggestions), MOST_ROWS, max(0, room - _EDGE))
        if not rows:
            self.close()
            return
        self._suggestions = suggestions
        self.was_moved = False
        self.styles.height = rows + _EDGE
        self.styles.offset = (0, -rows - _EDGE)
        notes = max(cell_len(each.note) for each in suggestions)
        titles = max(cell_len(each.title) for each in suggestions)
        self.styles.width = max(_LEAST_WIDTH, _BESIDE + titles + notes + (_GAP if notes else 0))
        self.show([_choice(str(at), each, notes) for at, each in enumerate(suggestions)])
        self.display = True

    def close(self) -> None:
        self.display = False
        self._suggestions = ()
        self.was_moved = False

    def move_mark(self, by: int) -> None:
        """Mark another line; the first follows the last."""
        self.was_moved = True
        self._go((self._at + by) % len(self._suggestions))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        event.prevent_default()  # textual would go on with that of `Choices`
        at = self._top + event.y - _EDGE
        if 0 <= at < len(self._suggestions):
            self._go(at)
            self.post_message(self.Chosen())


def _choice(key: str, suggestion: Suggestion, notes: int) -> Choice:
    """A row; the notes begin below each other."""
    note = suggestion.note + " " * (notes - cell_len(suggestion.note))
    return Choice(key, suggestion.title, ((note, "dim"),) if notes else (), marks=suggestion.marks, keeps_end=True)
