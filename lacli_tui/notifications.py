"""What is said about a moment: on the main screen above the prompt, in a dialog above its keys. Nothing pops up."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.events import Event, Key

from lacli_tui.screens.dialog import Dialog
from lacli_tui.verbs import Verbs

_LEVELS = {"warning": "warning", "error": "error"}


class Telling(App[str]):
    """An app whose `notify` covers nothing."""

    def notify(self, message: str, *, severity: Any = "information", **others: Any) -> None:
        """Say this where the user looks."""
        if isinstance(self.screen, Dialog):
            self.screen.say(message)
        elif isinstance(self.screen, Verbs):
            self.screen.moment.tell(message, _LEVELS.get(severity, "note"))
        else:
            super().notify(message, severity=severity, **others)

    async def on_event(self, event: Event) -> None:
        """With a key, what was said before it is over."""
        if isinstance(event, Key) and isinstance(self.screen, Verbs):
            self.screen.moment.passes()
        await super().on_event(event)
