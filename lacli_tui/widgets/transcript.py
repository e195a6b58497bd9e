"""The messages of the chat; follows the text only while its end is in view.

Only so many messages have widgets, as all are laid out at each change of size. The others are `MessageRecord`s, above
and below; `earlier` and `later` show some of them, and others leave at the other end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from lacli.events import Attachment
from lacli.sessions.records import Turn
from lacli_tui.textual_private import anchor_again, is_anchor_released
from lacli_tui.widgets.message import Answer, ChatMessage, ChatNotice, MessageRecord, Question

AT_ONCE = 20
"""Messages shown at first of a resumed chat, and loaded at a time."""
MOST = 40
"""The most messages with a widget."""


class Transcript(VerticalScroll, can_focus=False):
    DEFAULT_CSS = """
    Transcript {
        scrollbar-size-vertical: 1;
        &> .earlier, &> .later { color: $text-muted; text-align: center; height: 1; }
    }
    """

    @dataclass
    class Followed(Message, bubble=True):
        """Whether the end is in view has changed."""

        follows: bool

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self._above: list[MessageRecord] = []
        """The messages before those shown, in order,"""
        self._below: list[MessageRecord] = []
        """and those after; empty while the end is in view."""
        self._followed = True

    def on_mount(self) -> None:
        self.anchor()

    @property
    def follows(self) -> bool:
        """Whether the end is in view, and stays there when text comes."""
        return not self._below and (not is_anchor_released(self) or self.scroll_y >= self.max_scroll_y)

    @property
    def messages(self) -> list[ChatMessage]:
        """The questions and answers shown, in order."""
        return list(self.query_children(ChatMessage))

    @property
    def _shown_widgets(self) -> list[ChatMessage | ChatNotice]:
        return [each for each in self.children if isinstance(each, ChatMessage | ChatNotice)]

    @property
    def last_answer(self) -> Answer | None:
        """The newest answer, which may be out of view."""
        below = next((each.answer for each in reversed(self._below) if each.answer is not None), None)
        if below is not None:
            return below()
        return next((each for each in reversed(self.messages) if isinstance(each, Answer)), None)

    async def show(self, turns: Sequence[Turn], *first: Widget) -> None:
        """Show these turns, or these widgets if there are none."""
        await self._show_records(
            [record for number, turn in enumerate(turns) for record in _records_of(turn, number)], first
        )
        self.anchor()

    async def add_question(self, text: str, attachments: Sequence[Attachment], turn: int) -> Answer:
        """Show a question and return the answer to be written."""
        return await self._add_answer(turn, Question(text, attachments, turn))

    async def add_answer(self, turn: int) -> Answer:
        """Return an answer to be written that belongs to no question of the user's."""
        return await self._add_answer(turn)

    async def _add_answer(self, turn: int, *before: Widget) -> Answer:
        answer = Answer(turn=turn)
        await self.to_end()
        await self.mount_all([*before, answer])
        await self._drop_oldest()
        return answer

    async def replace_answer(self, turn: int) -> Answer:
        """Return the answer to be written in the place of the last one."""
        await self.to_end()
        last = self.last_answer
        answer = Answer(turn=turn)
        if last is not None:
            await self.mount(answer, before=last)
            await last.remove()
        else:
            await self.mount(answer)
        return answer

    async def take_back(self, turn: int) -> None:
        """Remove this turn and all after it."""
        leaving = [each for each in self.messages if each.turn is not None and each.turn >= turn]
        for record in (self._above, self._below):
            record[:] = [each for each in record if each.turn is None or each.turn < turn]
        for each in leaving:
            await each.remove()
        if not self.messages and self._above:
            await self._show_records([*self._above, *(each.record() for each in self._shown_widgets), *self._below])
        else:
            await self._mark_hidden()

    async def add_notice(self, text: str, level: str = "note", hint: str = "") -> None:
        news = ChatNotice(text, level, hint)
        if self._below:
            self._below.append(news.record())
            return
        await self.mount(news)
        if self.follows:
            await self._drop_oldest()

    async def earlier(self) -> None:
        """Show some earlier messages."""
        shown = self._shown_widgets
        if not self._above or not shown:
            return
        entering, self._above = self._above[-AT_ONCE:], self._above[:-AT_ONCE]
        self.release_anchor()
        with self.app.batch_update():
            await self.mount_all([each.make() for each in entering], before=shown[0])
            leaving = shown[max(0, MOST - len(entering)) :]
            if not any(
                isinstance(each, Answer) and not each.is_written for each in leaving
            ):  # its end is still to come
                self._below[:0] = [each.record() for each in leaving]
                await self.remove_children(leaving)
            await self._mark_hidden()
        self.call_after_refresh(self.scroll_to_widget, shown[0], animate=False, top=True)

    async def later(self) -> None:
        """Show some later messages."""
        shown = self._shown_widgets
        if not self._below or not shown:
            return
        entering, self._below = self._below[:AT_ONCE], self._below[AT_ONCE:]
        with self.app.batch_update():
            await self.mount_all([each.make() for each in entering], after=shown[-1])
            await self._drop_oldest()
            await self._mark_hidden()
        self.call_after_refresh(self.scroll_to_widget, shown[-1], animate=False)

    async def to_start(self) -> None:
        """Go to the start of what is shown."""
        self.release_anchor()
        self.scroll_home(animate=False)

    async def to_end(self) -> None:
        """Go to the end and follow the text again."""
        if self._below:
            await self._show_records([*self._above, *(each.record() for each in self._shown_widgets), *self._below])
        anchor_again(self)

    def watch_scroll_y(self, old: float, new: float) -> None:
        super().watch_scroll_y(old, new)
        follows = self.follows
        if follows != self._followed:
            self._followed = follows
            self.post_message(self.Followed(follows))

    async def _show_records(self, records: Sequence[MessageRecord], otherwise: Iterable[Widget] = ()) -> None:
        """Show the last of these, or other widgets if there are none."""
        self._above, self._below = list(records[:-AT_ONCE]), []
        with self.app.batch_update():
            await self.remove_children()
            await self.mount_all([each.make() for each in records[-AT_ONCE:]] if records else otherwise)
            await self._mark_hidden()

    async def _drop_oldest(self) -> None:
        """Let the oldest leave, but for one with the focus and those after it."""
        shown = self._shown_widgets
        leaving = shown[: max(0, len(shown) - MOST)]
        leaving = leaving[: next((at for at, each in enumerate(leaving) if each.has_focus), len(leaving))]
        if leaving:
            self._above += [each.record() for each in leaving]
            await self.remove_children(leaving)
            await self._mark_hidden()

    async def _mark_hidden(self) -> None:
        """Say how many are not shown."""
        await self.query_children(".earlier, .later").remove()
        if self._above:
            line = f"↑ {_turns(self._above, 'earlier')}: page up at the top shows them"
            await self.mount(Static(line, classes="earlier", markup=False), before=0)
        if self._below:
            line = f"↓ {_turns(self._below, 'later')}: page down at the end shows them"
            await self.mount(Static(line, classes="later", markup=False))


def _records_of(turn: Turn, number: int) -> tuple[MessageRecord, MessageRecord]:
    """The question and answer of a saved turn."""
    question = partial(Question, turn.question.text, turn.question.attachments, number)
    note = "interrupted" if turn.interrupted else ""
    answer = partial(Answer, turn.answer.text, note, number, thought=turn.thought)
    return MessageRecord(question, number), MessageRecord(answer, number, answer)


def _turns(record: Sequence[MessageRecord], which: str) -> str:
    number = len({each.turn for each in record} - {None})
    return f"{number} {which} turns" if number else f"{which} lines"
