"""One line that is typed: textual's field, of which nothing acts on the terminal."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.widgets import Input

from lacli_tui.sanitize import in_place, pasted, shown


class Field(Input):
    """What was put there is edited as it is, and drawn with signs."""

    def __init__(self, value: str, placeholder: str, id: str) -> None:  # noqa: A002 - textual's name
        super().__init__(value, placeholder=shown(placeholder), select_on_focus=False, id=id)

    @property
    def _value(self) -> Text:
        return Text(in_place(self.value).replace("\n", "\u240a"), no_wrap=True, overflow="ignore", end="")

    def _on_paste(self, event: events.Paste) -> None:
        """Its first line."""
        event.prevent_default()
        event.stop()
        self.replace(pasted(event.text).partition("\n")[0], *self.selection)
