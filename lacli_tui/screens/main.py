"""The main screen: transcript, prompt and what shows how decoding goes; from top to bottom and left to right:

`#header` · `#sidebar`, `#talk` (with `#transcript`), `#decode` in `#body` · `#status` · `#chips` · `#prompt` · footer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer

from lacli_tui.actions import MAIN, bindings_of
from lacli_tui.widgets.chips import Chips
from lacli_tui.widgets.decode_panel import DecodePanel
from lacli_tui.widgets.header import Header
from lacli_tui.widgets.prompt import Prompt
from lacli_tui.widgets.status_line import StatusLine
from lacli_tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from lacli_tui.app import Start


class MainScreen(Screen[None]):
    """The chat."""

    BINDINGS = bindings_of(MAIN)

    def __init__(self, start: Start) -> None:
        super().__init__()
        self._begin = start
        self.idle = True
        """Whether nothing is asked of the engine."""
        self.session_id = ""
        """Of the session that is being kept; empty until there is one."""

    def compose(self) -> ComposeResult:
        """The widgets at their places."""
        yield Header(id="header")
        with Horizontal(id="body"):
            with Vertical(id="talk"):
                yield Transcript(id="transcript")
            yield DecodePanel(id="decode")
        yield StatusLine(id="status")
        yield Chips(id="chips")
        yield Prompt(id="prompt")
        yield Footer()

    def on_mount(self) -> None:
        """Typing begins at once."""
        self.query_one(Prompt).focus()
