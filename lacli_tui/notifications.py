"""Tells the user something: in the bar above the prompt, or in the transcript if it is part of the conversation."""

from __future__ import annotations

from collections.abc import Callable

from lacli.errors import LacliError, PromptTooLong
from lacli_tui.widgets.notice_bar import NoticeBar
from lacli_tui.widgets.transcript import Transcript

_TOO_LONG = "/drop n takes a file away, /set truncate middle leaves out a part of it; --ctx N at the start makes room"


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

    async def report(self, error: BaseException, in_chat: bool = False) -> None:
        """Show a failure above the prompt, or in the transcript."""
        if isinstance(error, LacliError):
            by_flags = isinstance(error, PromptTooLong) and "--" in error.hint
            text, hint = error.message, _TOO_LONG if by_flags else error.hint
        elif isinstance(error, OSError):
            text, hint = f"{error.filename or 'a file'}: {error.strerror or error}", ""
        else:
            text, hint = f"{type(error).__name__}: {error}", "a mistake of lacli's: please report it"
        if in_chat:
            await self.add_to_chat(text, "error", hint)
        else:
            self.show(text, "error", hint)
