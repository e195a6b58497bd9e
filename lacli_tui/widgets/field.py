"""A one-line input that shows control characters instead of sending them to the terminal."""

from __future__ import annotations

from rich.text import Text
from textual import events

from lacli_tui.sanitize import clean_paste, visible, visible_in_place
from lacli_tui.textual_private import InputBase


class Field(InputBase):
    """What was put there is edited as it is, and drawn with signs."""

    def __init__(self, value: str, placeholder: str, id: str) -> None:  # noqa: A002 - textual's name
        super().__init__(value, placeholder=visible(placeholder), select_on_focus=False, id=id)

    def drawn_value(self) -> Text:
        """With a sign for each control character."""
        return Text(visible_in_place(self.value).replace("\n", "\u240a"), no_wrap=True, overflow="ignore", end="")

    def on_paste(self, event: events.Paste) -> None:
        """Pastes the first line only."""
        event.prevent_default()
        event.stop()
        self.replace(clean_paste(event.text).partition("\n")[0], *self.selection)
