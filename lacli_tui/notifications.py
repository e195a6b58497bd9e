"""Tells the user something: in the bar above the prompt, or in the transcript if it is part of the conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lacli.chat.outcome import Line, fault
from lacli_tui.widgets.notice_bar import NoticeBar
from lacli_tui.widgets.transcript import Transcript


class Notifications:
    """Nothing pops up."""

    def __init__(self, bar: NoticeBar, transcript: Transcript, notify: Callable[[str], None]) -> None:
        """`notify` shows a text on the topmost screen, which may be a dialog."""
        self._bar = bar
        self._transcript = transcript
        self.notify = notify

    def show(self, text: str, level: str = "note", hint: str = "") -> None:
        """Show a line above the prompt, for the moment."""
        self._bar.show(text, level, hint)

    def withdraw(self, text: str) -> None:
        """Remove this line from above the prompt: it no longer holds."""
        self._bar.withdraw(text)

    async def add_to_chat(self, text: str, level: str = "note", hint: str = "") -> None:
        """Add a line to the transcript."""
        await self._transcript.add_notice(text, level, hint)

    async def show_lines(self, lines: Sequence[Line], in_chat: bool = False) -> None:
        """Show these as one notice, above the prompt or in the transcript."""
        if lines:
            text, last = "\n".join(each.text for each in lines), lines[-1]
            if in_chat:
                await self.add_to_chat(text, last.level, last.hint)
            else:
                self.show(text, last.level, last.hint)

    async def report(self, error: BaseException, in_chat: bool = False) -> None:
        """Show a failure."""
        await self.show_lines([fault(error)], in_chat)
