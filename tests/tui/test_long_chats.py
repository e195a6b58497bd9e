"""A chat that goes on all day: only so many messages have widgets; the others come back, whole."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.widget import Widget

from lacli_tui.controllers.prompt_queue import QueuedQuestion
from lacli_tui.decoding import SourceTrace, runs
from lacli_tui.messages import ActionRequested, Decoded
from lacli_tui.widgets.message import Answer, ChatMessage, ChatNotice
from lacli_tui.widgets.transcript import AT_ONCE, MOST, Transcript
from tests.tui.conftest import Play, Playing


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer messages, so that a chat is soon a long one."""
    monkeypatch.setattr("lacli_tui.widgets.transcript.AT_ONCE", 4)
    monkeypatch.setattr("lacli_tui.widgets.transcript.MOST", 10)


def numbers(it: Playing) -> list[int]:
    """The turns that are shown."""
    return sorted({each.turn for each in it.main.transcript.messages if each.turn is not None})


def messages(it: Playing) -> list[str]:
    return [each.source for each in it.main.transcript.messages]


def widgets(it: Playing) -> int:
    return len(list(it.main.transcript.query(Widget)))


@pytest.mark.usefixtures("small")
class TestOnlySoManyAreMounted:
    @pytest.mark.slow
    async def test_of_a_chat_that_goes_on(self, pilot: Play) -> None:
        async with pilot(*(f"answer {n}" for n in range(9))) as it:
            for n in range(6):
                await it.ask(f"question {n}")
            after_six = widgets(it)
            for n in range(6, 9):
                await it.ask(f"question {n}")
            assert widgets(it) <= after_six + 1
            assert numbers(it) == [4, 5, 6, 7, 8]
            assert "↑ 4 earlier turns" in str(it.main.transcript.query(".earlier").first().render())
            assert it.main.transcript.follows

    async def test_of_lines_of_news(self, pilot: Play) -> None:
        async with pilot("a") as it:
            await it.ask("q")
            for n in range(30):
                await it.main.notifications.add_to_chat(f"line {n}")
            assert len(it.main.transcript.query(ChatNotice)) == 10

    @pytest.mark.slow
    async def test_of_one_that_is_paged_through_and_each_turn_is_there_once(self, pilot: Play) -> None:
        async with pilot(*(f"answer {n}" for n in range(9))) as it:
            for n in range(9):
                await it.ask(f"question {n}")
            seen = set(numbers(it))
            for _ in range(6):
                await it.press("ctrl+home")
                await it.press("pageup")
                assert len(it.main.transcript.messages) <= 10
                shown = numbers(it)
                assert shown == list(range(shown[0], shown[-1] + 1))
                seen |= set(shown)
            assert seen == set(range(9))
            assert not it.main.transcript.follows
            assert messages(it)[:4] == ["question 0", "answer 0", "question 1", "answer 1"]
            for _ in range(16):
                await it.press("pagedown")
            assert numbers(it)[-1] == 8
            assert len(it.main.transcript.messages) <= 10


@pytest.mark.usefixtures("small")
class TestNothingIsLost:
    async def up(self, it: Playing) -> None:
        """Ten turns, the first of which are shown."""
        for n in range(10):
            await it.ask(f"question {n}")
        for _ in range(6):
            await it.press("ctrl+home")
            await it.press("pageup")
        assert numbers(it)[0] == 0
        assert numbers(it)[-1] < 9

    @pytest.mark.slow
    async def test_the_next_question_goes_to_the_end(self, pilot: Play) -> None:
        async with pilot(*(f"answer {n}" for n in range(11))) as it:
            await self.up(it)
            await it.ask("one more")
            assert messages(it)[-4:] == ["question 9", "answer 9", "one more", "answer 10"]
            assert it.main.transcript.follows

    @pytest.mark.slow
    async def test_the_last_answer_is_the_last_of_the_chat(self, pilot: Play) -> None:
        async with pilot(*("```\na\n```\n" if n == 9 else f"answer {n}" for n in range(10))) as it:
            await self.up(it)
            last = it.main.transcript.last_answer
            assert last is not None
            assert last.source == "```\na\n```\n"
            assert list(last.blocks) == [1]

    @pytest.mark.slow
    async def test_end_goes_to_the_end(self, pilot: Play) -> None:
        async with pilot(*(f"answer {n}" for n in range(10))) as it:
            await self.up(it)
            await it.main.notifications.add_to_chat("some news")
            await it.press("ctrl+end")
            assert messages(it)[-1] == "answer 9"
            assert it.main.transcript.query(ChatNotice)
            assert it.main.transcript.follows

    @pytest.mark.slow
    async def test_a_question_asked_again_takes_the_place_of_what_is_below(self, pilot: Play) -> None:
        async with pilot(*(f"answer {n}" for n in range(11))) as it:
            await self.up(it)
            it.main.post_message(ActionRequested("message-retry", turn=1))
            await it.until(lambda: len(it.main.chat.conversation.turns) == 2)
            await it.idle()
            assert messages(it) == ["question 0", "answer 0", "question 1", "answer 10"]

    async def test_a_reply_that_is_there_before_its_widget_is_shown_whole(
        self, pilot: Play, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mounted = Transcript.add_question

        async def late(*given: Any) -> Answer:
            await asyncio.sleep(0.3)
            return await mounted(*given)

        monkeypatch.setattr(Transcript, "add_question", late)
        async with pilot("an answer") as it:
            await it.idle()
            await it.main.replies.ask(QueuedQuestion("hi", "hi"))
            await it.idle()
            assert messages(it) == ["hi", "an answer"]

    @pytest.mark.slow
    async def test_a_question_that_is_above_can_be_taken_back_to(self, pilot: Play) -> None:
        async with pilot(*(f"answer {n}" for n in range(10))) as it:
            for n in range(10):
                await it.ask(f"question {n}")
            await it.main.transcript.take_back(3)
            assert messages(it)[-2:] == ["question 2", "answer 2"]

    @pytest.mark.slow
    async def test_the_focus_goes_on_to_what_was_not_there(self, pilot: Play) -> None:
        async with pilot(*(f"answer {n}" for n in range(8))) as it:
            for n in range(8):
                await it.ask(f"question {n}")
            await it.press("shift+tab")
            for _ in range(15):
                await it.press("up")
            assert isinstance(it.app.focused, ChatMessage)
            assert it.app.focused.source == "question 0"
            for _ in range(15):
                await it.press("down")
            assert isinstance(it.app.focused, ChatMessage)
            assert it.app.focused.source == "answer 7"

    @pytest.mark.slow
    async def test_who_guessed_is_known_of_an_answer_that_was_away(self, pilot: Play) -> None:
        async with pilot(*("some words that are guessed" for n in range(9))) as it:
            for n in range(9):
                await it.ask(f"question {n}")
            before = it.main.transcript.messages[-1].trace.tokens  # type: ignore[attr-defined]
            for _ in range(6):
                await it.press("ctrl+home")
                await it.press("pageup")
            first = it.main.transcript.messages[1]
            assert isinstance(first, Answer)
            assert first.turn == 0
            assert first.trace.tokens.total() == before.total() > 0

    @pytest.mark.slow
    async def test_an_answer_that_is_being_written_stays(self, pilot: Play) -> None:
        async with pilot(*(f"answer {n}" for n in range(10))) as it:
            for n in range(10):
                await it.ask(f"question {n}")
            answer = await it.main.transcript.add_question("one more", (), 10)
            for _ in range(6):
                await it.press("ctrl+home")
                await it.press("pageup")
            await answer.append("grows")
            assert messages(it)[-1] == "grows"
            assert messages(it)[0] == "question 0"


class TestATrace:
    def test_takes_a_few_bytes_a_step(self) -> None:
        trace = SourceTrace()
        for _ in range(1000):
            trace.add([Decoded("x" * 5, ("", "prompt", "prompt"), (1, 2, 2))])
        assert len(trace._who) == len(trace._lengths) == 2000
        assert not any(
            isinstance(getattr(trace, name), list) and len(getattr(trace, name)) > 8 for name in trace.__slots__
        )
        assert len(runs("x" * 5000, trace)) == 2000


def test_the_numbers_leave_room_for_paging() -> None:
    """What comes and what was on the screen are there together, else the screen would jump."""
    assert MOST >= 2 * AT_ONCE
