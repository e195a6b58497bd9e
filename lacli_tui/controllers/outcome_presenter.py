"""Shows what comes of the user's commands, and has the engine do its part."""

from __future__ import annotations

from dataclasses import dataclass

from lacli.chat.outcome import Outcome
from lacli_tui.controllers.decode_panel_controller import DecodePanelController
from lacli_tui.controllers.transcript_controller import TranscriptController
from lacli_tui.engine_session import EngineSession
from lacli_tui.notifications import Notifications
from lacli_tui.widgets.prompt import Prompt


@dataclass(eq=False)
class OutcomePresenter:
    """For outcomes that ask for no reply: `TranscriptController` shows the others."""

    _engine: EngineSession
    _prompt: Prompt
    _replies: TranscriptController
    _panel: DecodePanelController
    _notifications: Notifications

    async def show(self, outcome: Outcome, in_chat: bool = False) -> None:
        """Show it above the prompt, or in the transcript where what it says is part of the conversation."""
        self._engine.carry_out(outcome)
        if outcome.changed:
            self._panel.restart_charts()
            await self._replies.show_all()
        await self._notifications.show_lines(outcome.lines, in_chat)
        if outcome.draft is not None:
            self._prompt.put(outcome.draft)
            self._prompt.focus()
