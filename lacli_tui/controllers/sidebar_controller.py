"""The sidebar: earlier chats of the project and the files the model has been shown."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.screen import Screen
from textual.widgets import OptionList

from lacli.chat.chat import ChatSession
from lacli.errors import LacliError
from lacli_tui.background import in_thread
from lacli_tui.widgets.prompt import Prompt
from lacli_tui.widgets.sidebar import MOST, Sidebar

if TYPE_CHECKING:
    from lacli.sessions.records import Summary


@dataclass(eq=False)
class SidebarController:
    """Reads nothing while the sidebar is hidden."""

    _screen: Screen[Any]
    _chat: ChatSession
    _folder: Path
    _sidebar: Sidebar
    _prompt: Prompt
    _now: Callable[[], float]

    @property
    def is_open(self) -> bool:
        """Whether it is shown."""
        return self._screen.has_class("-sidebar")

    def toggle(self) -> None:
        """Show or hide it, and move the focus there or back."""
        self._screen.toggle_class("-sidebar")
        self.refresh()
        if self.is_open:
            self._sidebar.query_one(OptionList).focus()
        else:
            self._prompt.focus()

    def refresh(self) -> None:
        """Show what there is now."""
        if self.is_open:
            self._sidebar.show_files(self._chat.conversation.attachments)
            self._screen.run_worker(self._list_chats(), group="sidebar", exclusive=True, exit_on_error=False)

    async def _list_chats(self) -> None:
        from lacli.project.root import project_root
        from lacli.sessions.records import CONVERSATIONS
        from lacli.sessions.store import SessionStore, path

        def read() -> Sequence[Summary]:
            return SessionStore(path()).list(project_root(self._folder), limit=MOST, kinds=CONVERSATIONS)

        chats: Sequence[Summary] = []
        with contextlib.suppress(LacliError):  # the screen of all chats says so
            chats = await in_thread(read)
        self._sidebar.show_chats(chats, self._chat.recorder.id, self._now())
