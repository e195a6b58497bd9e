"""What is seen: scrolling, the focus on messages. The Decode panel is `watch`'s."""

from __future__ import annotations

from lacli_tui.verbs import Verbs
from lacli_tui.widgets.message import Answer, Said


class Views(Verbs):
    """Of the main screen."""

    async def action_earlier(self) -> None:
        """Scroll up; at the top, bring turns before."""
        if self.transcript.scroll_y <= 0:
            await self.transcript.earlier()
        self.transcript.release_anchor()
        self.transcript.scroll_page_up(animate=False)

    async def action_later(self) -> None:
        """Scroll down; at the end, bring turns after."""
        if self.transcript.scroll_y >= self.transcript.max_scroll_y:
            await self.transcript.later()
        self.transcript.scroll_page_down(animate=False)

    async def action_to_start(self) -> None:
        """Scroll to the start."""
        await self.transcript.to_start()

    async def action_to_end(self) -> None:
        """Scroll to the end and follow the text."""
        await self.transcript.to_end()

    def go_to_messages(self) -> None:
        """Put the focus on the last message that is shown."""
        messages = self.transcript.messages
        if messages:
            messages[-1].focus()

    async def move(self, step: int) -> None:
        """Put the focus on the message before or after; behind the last one is the prompt."""
        focused = self.focused
        messages = self.transcript.messages
        if messages and focused is messages[0 if step < 0 else -1]:
            await (self.transcript.earlier() if step < 0 else self.transcript.later())
            messages = self.transcript.messages
        at = messages.index(focused) if isinstance(focused, Said) and focused in messages else len(messages)
        if at + step >= len(messages):
            self.prompt.focus()
        elif at + step >= 0:
            messages[at + step].focus()

    def answer_of(self, turn: int | None) -> Answer | None:
        if turn is None:
            return self.transcript.last_answer
        found = (each for each in self.transcript.messages if isinstance(each, Answer) and each.turn == turn)
        return next(found, None)
