"""The left column: earlier chats of this project, and the files the model has been shown. Hidden at first."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from lacli.events import Attachment
from lacli.sessions.records import Summary
from lacli.shared.wording import age, counted
from lacli_tui.messages import ActionRequested
from lacli_tui.sanitize import visible
from lacli_tui.widgets.message import described

MOST = 50


class Sidebar(Vertical):
    DEFAULT_CSS = """
    Sidebar {
        width: 28;
        display: none;
        border-right: solid $line;
        & .title { color: $secondary; text-style: bold; padding: 0 1; }
        & OptionList { height: 1fr; border: none; padding: 0 0 0 1; background: transparent; }
        & OptionList { scrollbar-size-vertical: 1; }
        & OptionList:focus { border: none; }
        & #files { height: auto; max-height: 40%; padding: 0 1; color: $text-muted; }
    }
    """

    def compose(self) -> ComposeResult:
        yield Static("chats", classes="title", markup=False)
        yield OptionList(markup=False)
        yield Static("files shown", classes="title", markup=False)
        yield Static("", id="files", markup=False)

    def show_chats(self, chats: Sequence[Summary], current: str, now: float) -> None:
        """Show these chats, the newest first."""
        options = []
        for each in chats:
            words = Text(no_wrap=True, overflow="ellipsis")
            words.append(visible(each.title or each.id[:8]), "bold" if each.id == current else "")
            words.append(f"\n{age(each.used, now)} · {counted(each.turns, 'turn', 'turns')}", "dim")
            options.append(Option(words, id=each.id))
        chosen = self.query_one(OptionList)
        chosen.clear_options()
        chosen.add_options(options or [Option(Text("none yet", "dim"), disabled=True)])

    def show_files(self, files: Sequence[Attachment]) -> None:
        """Show the files that are part of what is sent."""
        self.query_one("#files", Static).update(Text("\n".join(described(each)[2:] for each in files) or "none"))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_id:
            self.post_message(ActionRequested("resume", event.option_id))
