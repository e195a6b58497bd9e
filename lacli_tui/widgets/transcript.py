"""What was said, message by message; follows the text only while its end is in view.

Called by the main screen: `show(turns)` begins anew, `ask` adds a question with the answer that is to come, `tell` a
line of news. Of a long conversation only the newest turns are there at first; `earlier` brings more.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from lacli.events import Attachment
from lacli.sessions.records import Turn
from lacli_tui.widgets.message import Answer, News, Question, Said

_AT_ONCE = 12
"""Turns shown at a time of a conversation that is opened again."""


class Transcript(VerticalScroll, can_focus=False):
    """The messages."""

    DEFAULT_CSS = """
    Transcript {
        scrollbar-size-vertical: 1;
        &> .earlier { color: $text-muted; text-align: center; height: 1; }
    }
    """

    class Followed(Message, bubble=True):
        """Whether the end is in view has changed."""

        def __init__(self, follows: bool) -> None:
            super().__init__()
            self.follows = follows

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self._turns: Sequence[Turn] = ()
        self._first = 0
        """The first turn that is shown."""
        self._followed = True

    def on_mount(self) -> None:
        """Follow the text from the start."""
        self.anchor()

    @property
    def follows(self) -> bool:
        """Whether the end is in view, and stays so when text comes."""
        return not self._anchor_released or self.scroll_y >= self.max_scroll_y

    @property
    def messages(self) -> list[Said]:
        """Questions and answers, in order."""
        return list(self.query_children(Said))

    @property
    def last_answer(self) -> Answer | None:
        """The newest answer."""
        return next((each for each in reversed(self.messages) if isinstance(each, Answer)), None)

    async def show(self, turns: Sequence[Turn], *first: Widget) -> None:
        """Begin anew with these turns, or with these widgets where there are none."""
        self._turns = tuple(turns)
        self._first = max(0, len(turns) - _AT_ONCE)
        with self.app.batch_update():
            await self.remove_children()
            await self.mount_all(self._widgets(self._first, len(turns)) if turns else first)
            await self._mark_earlier()
        self.anchor()

    async def ask(self, text: str, attachments: Sequence[Attachment], turn: int) -> Answer:
        """A question was asked: returns the answer that is to be written."""
        answer = Answer(turn=turn)
        await self.mount_all([Question(text, attachments, turn), answer])
        self.to_end()
        return answer

    async def answer_again(self, turn: int) -> Answer:
        """The last question is asked again: returns the answer in the place of the last one."""
        last = self.last_answer
        answer = Answer(turn=turn)
        if last is not None:
            await self.mount(answer, before=last)
            await last.remove()
        else:
            await self.mount(answer)
        self.to_end()
        return answer

    async def take_back(self, turn: int) -> None:
        """Take away this turn and all behind it."""
        gone = [each for each in self.messages if each.turn is not None and each.turn >= turn]
        for each in gone:
            await each.remove()

    async def tell(self, text: str, level: str = "note", hint: str = "") -> None:
        """Add a line of news."""
        await self.mount(News(text, level, hint))

    async def earlier(self) -> None:
        """Show some more of the turns before."""
        if not self._first:
            return
        begun, self._first = self._first, max(0, self._first - _AT_ONCE)
        anchor = next(iter(self.messages), None)
        await self.mount_all(self._widgets(self._first, begun), before=anchor)
        await self._mark_earlier()
        if anchor is not None:
            self.call_after_refresh(self.scroll_to_widget, anchor, animate=False, top=True)

    def to_end(self) -> None:
        """Go to the end and follow the text again."""
        self._anchor_released = False
        self.anchor()

    def watch_scroll_y(self, old: float, new: float) -> None:
        """The user scrolled, or the text did."""
        super().watch_scroll_y(old, new)
        follows = self.follows
        if follows != self._followed:
            self._followed = follows
            self.post_message(self.Followed(follows))

    def _widgets(self, start: int, end: int) -> list[Widget]:
        found: list[Widget] = []
        for number in range(start, end):
            turn = self._turns[number]
            found.append(Question(turn.question.text, turn.question.attachments, number))
            found.append(Answer(turn.answer.text, "interrupted" if turn.interrupted else "", number))
        return found

    async def _mark_earlier(self) -> None:
        await self.query_children(".earlier").remove()
        if self._first:
            line = f"↑ {self._first} earlier turns: page up at the top shows them"
            await self.mount(Static(line, classes="earlier", markup=False), before=0)
