"""What all screens over the main one share: a frame with a title, and a line with their keys below.

A screen gives `TITLE`, `PLACES` (its actions) and `body`; `close` leaves it with None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from lacli_tui.actions import ACTIONS, DIALOG, bindings_of
from lacli_tui.background import Background
from lacli_tui.glyphs import is_ascii_terminal, to_terminal
from lacli_tui.keys import key_name, keys_of
from lacli_tui.sanitize import visible
from lacli_tui.widgets.hints import Hints

Result = TypeVar("Result")


class Dialog(ModalScreen[Result | None]):
    TITLE = ""
    PLACES: Sequence[str] = ()
    """Whose actions it has, besides those of every dialog."""
    BINDINGS = bindings_of(DIALOG)
    AUTO_FOCUS = "*"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-normal")]  # noqa: RUF012 - as textual has it
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]  # noqa: RUF012
    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > #frame {
        width: 92%;
        max-width: 104;
        height: 84%;
        padding: 0 1;
        background: $surface;
        border: round $line;
        border-title-color: $primary;
        border-title-style: bold;
        border-subtitle-color: $text-muted;
    }
    Dialog.-small > #frame { width: 72; max-width: 92%; height: auto; max-height: 84%; }
    Dialog.-narrow > #frame, Dialog.-low > #frame { width: 100%; max-width: 100%; }
    Dialog.-low > #frame { height: 100%; max-height: 100%; }
    Dialog.-small.-low > #frame { height: auto; }
    Dialog.-plain > #frame { border: ascii $line; }
    Dialog > #frame > #hints { height: auto; color: $text-muted; margin: 1 0 0 0; }
    Dialog.-low > #frame > #hints { margin: 0; }
    Dialog > #frame > #page {
        scrollbar-size-vertical: 1;
        scrollbar-background: $surface;
        scrollbar-background-hover: $surface;
        scrollbar-background-active: $surface;
    }
    Dialog > #frame > #notice { height: auto; color: $warning; display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.background = Background(self)

    def compose(self) -> ComposeResult:
        frame = Vertical(*self.body(), Static(id="notice", markup=False), Hints(id="hints"), id="frame")
        frame.border_title = Content(to_terminal(visible(self.title or self.TITLE)))
        yield frame
        self.set_class(is_ascii_terminal(), "-plain")

    def body(self) -> Iterable[Widget]:
        """The widgets in the frame."""
        return ()

    def on_mount(self) -> None:
        self.show_hints()

    def show_hints(self) -> None:
        """Show the keys that apply now, as the user has set them."""
        self.query_one(Hints).show(
            [
                (key_name(keys_of(action.id, self.app)[0]), word)
                for where in (*self.PLACES, DIALOG)
                for action in ACTIONS
                if action.where == where and (word := self.footer_of(action.id, action.footer))
            ]
        )

    def footer_of(self, id_: str, footer: str) -> str:
        """The name of an action in the line of keys; empty if it does not apply."""
        return footer

    def show_notice(self, text: str) -> None:
        """Show a notice above the keys; an empty one hides it."""
        line = self.query_one("#notice", Static)
        line.update(Content(to_terminal(visible(text))))
        line.display = bool(text)

    def show_in_frame(self, text: str) -> None:
        """Show a text at the lower edge of the frame."""
        self.query_one("#frame").border_subtitle = Content(to_terminal(visible(text))) if text else ""

    def action_close(self) -> None:
        self.dismiss(None)
