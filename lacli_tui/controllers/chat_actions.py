"""What can be done with the chat as a whole: take back, forget, begin anew, resume another one, show its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.screen import Screen

from lacli.errors import LacliError
from lacli.events import Counts
from lacli.shared.wording import counted, counts_table
from lacli_tui.chat_session import ChatSession
from lacli_tui.controllers.decode_panel_controller import DecodePanelController
from lacli_tui.controllers.slow_work import SlowWork
from lacli_tui.controllers.transcript_controller import TranscriptController
from lacli_tui.notifications import Notifications
from lacli_tui.widgets.prompt import Prompt

_UNDONE = {
    "": "there is nothing to take back",
    "question": "the last question is taken back",
    "retry": "the answer before is back",
    "drop": "the file is back",
}


class ChatActions:
    """None of them while a reply is being written, but for the numbers."""

    def __init__(
        self,
        screen: Screen[Any],
        chat: ChatSession,
        folder: Path,
        prompt: Prompt,
        replies: TranscriptController,
        panel: DecodePanelController,
        slow_work: SlowWork,
        notifications: Notifications,
    ) -> None:
        self._screen = screen
        self._chat = chat
        self._folder = folder
        self._prompt = prompt
        self._replies = replies
        self._panel = panel
        self._slow_work = slow_work
        self._notifications = notifications

    async def undo(self) -> None:
        """Undo what was done last."""
        if self._replies.is_busy():
            return
        change = self._chat.undo()
        if change:
            self._panel.restart_charts()
            await self._replies.show_all()
        now = counted(len(self._chat.conversation.turns), "turn", "turns")
        self._notifications.notify(_UNDONE.get(change, f"what was there before is back: {now}"))

    async def clear(self) -> None:
        """Forget the conversation."""
        if not self._replies.is_busy():
            self._chat.clear()
            await self._replies.show_all()
            self._notifications.notify("the conversation is forgotten; /undo brings it back")

    async def new(self) -> None:
        """Begin another chat."""
        if not self._replies.is_busy():
            self._chat.new()
            await self._replies.show_all()
            self._prompt.focus()

    def resume(self, id_: str = "") -> None:
        """Resume a saved chat; without an id it is chosen from a list."""
        if not self._replies.is_busy():
            self._screen.run_worker(self._resume(id_), group="picker", exclusive=True)

    async def _resume(self, id_: str) -> None:
        from lacli.project.root import project_root
        from lacli.sessions.store import SessionStore, path

        try:
            if not id_:
                from lacli_tui.screens.sessions import SessionsScreen

                project = await self._slow_work.run(lambda: project_root(self._folder), "looking at the project")
                dialog = SessionsScreen(self._chat.session_id, project)
                chosen: str | None = await self._screen.app.push_screen_wait(dialog)
                id_ = chosen or ""
            if not id_ or id_ == self._chat.session_id:
                return
            session = await self._slow_work.run(lambda: SessionStore(path()).session(id_), "reading the chat")
            if not self._replies.is_busy():  # a question may have been sent meanwhile
                self._chat.resume(session)
                await self._replies.show_all()
                self._prompt.focus()
        except LacliError as error:
            await self._notifications.report(error)

    async def stats(self) -> None:
        """Show the numbers of the last reply and of the chat."""
        if not self._chat.counts.replies:
            self._notifications.notify("no reply yet")
            return
        columns: list[tuple[str, Counts]] = [("this chat", self._chat.counts)]
        if self._chat.stats is not None:
            columns.insert(0, ("this reply", self._chat.stats))
        await self._notifications.add_to_chat("\n".join(counts_table(columns)))

    def count_tokens(self) -> None:
        """Have the prompt so far counted."""
        if not self._replies.is_busy():
            self._chat.count_tokens()
