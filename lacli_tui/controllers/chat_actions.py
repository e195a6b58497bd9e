"""What can be done with the chat as a whole: take back, forget, begin anew, resume another one, show its numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from textual.screen import Screen

from lacli.chat import listings
from lacli.errors import LacliError
from lacli_tui.controllers.outcome_presenter import OutcomePresenter
from lacli_tui.controllers.slow_work import SlowWork
from lacli_tui.controllers.transcript_controller import TranscriptController
from lacli_tui.engine_session import EngineSession
from lacli_tui.notifications import Notifications
from lacli_tui.widgets.prompt import Prompt


@dataclass(eq=False)
class ChatActions:
    """None of them while a reply is being written, but for the numbers."""

    _screen: Screen[Any]
    _engine: EngineSession
    _folder: Path
    _prompt: Prompt
    _replies: TranscriptController
    _outcomes: OutcomePresenter
    _slow_work: SlowWork
    _notifications: Notifications

    async def undo(self) -> None:
        """Undo what was done last."""
        if not self._replies.is_busy():
            await self._outcomes.show(self._engine.chat.undo())

    async def clear(self) -> None:
        """Forget the conversation."""
        if not self._replies.is_busy():
            await self._outcomes.show(self._engine.chat.clear())

    async def new(self) -> None:
        """Begin another chat."""
        if not self._replies.is_busy():
            await self._outcomes.show(self._engine.chat.new())
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
                dialog = SessionsScreen(self._engine.recorder.id, project)
                chosen: str | None = await self._screen.app.push_screen_wait(dialog)
                id_ = chosen or ""
            if not id_ or id_ == self._engine.recorder.id:
                return
            session = await self._slow_work.run(lambda: SessionStore(path()).session(id_), "reading the chat")
            if not self._replies.is_busy():  # a question may have been sent meanwhile
                await self._outcomes.show(replace(self._engine.chat.resume(session), lines=()))  # all of it is seen
                self._prompt.focus()
        except LacliError as error:
            await self._notifications.report(error)

    async def stats(self) -> None:
        """Show the numbers of the last reply and of the chat."""
        await self._outcomes.show(listings.numbers(self._engine.chat), in_chat=bool(self._engine.chat.counts.replies))

    def count_tokens(self) -> None:
        """Have the prompt so far counted."""
        if not self._replies.is_busy():
            self._engine.count_tokens()
