"""Ask for one line. `LineScreen(question, value)` -> what is typed, or None for going back."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from lacli_tui.actions import LINE, bindings_of
from lacli_tui.screens.dialog import Dialog


class LineScreen(Dialog[str]):
    """One line with a title."""

    WHERES = (LINE,)
    BINDINGS = bindings_of(LINE)
    DEFAULT_CSS = """
    LineScreen > #frame > #line {
        height: 1; border: none; padding: 0 1; margin: 1 0 0 0; background: $panel;
        &:ansi { background: ansi_default; text-style: underline; }
    }
    """

    def __init__(self, question: str, placeholder: str = "", value: str = "") -> None:
        super().__init__()
        self.title = question
        self.add_class("-small")
        self._placeholder = placeholder
        self._value = value

    def body(self) -> Iterable[Widget]:
        """The field."""
        yield Input(self._value, placeholder=self._placeholder, select_on_focus=False, id="line")

    def on_mount(self) -> None:
        """Typing begins at once."""
        field = self.query_one("#line", Input)
        field.cursor_blink = False
        field.focus()

    def action_line_take(self) -> None:
        """Take what is typed; nothing is as good as going back."""
        value = self.query_one("#line", Input).value.strip()
        self.dismiss(value or None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_line_take()
