"""Absurd sizes, and sizes that change while text comes: nothing ends, nothing is lost."""

from __future__ import annotations

import time
from typing import Any

import pytest
from textual.widgets._footer import FooterKey

from lacli.assistant.scripted import ScriptedAssistant
from lacli_tui.widgets.prompt import Prompt
from tests.slow import slow
from tests.tui.conftest import Play

TEXT = (
    "# Title\n\n"
    + "word " * 60
    + "\n\n```python\n"
    + "x = 1  # "
    + "long " * 40
    + "\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)


class Slow(ScriptedAssistant):
    """Writes for about a second."""

    def reply(self, request: Any, cancel: Any = lambda: False) -> Any:
        for event in super().reply(request, cancel):
            time.sleep(0.01)
            yield event


@pytest.mark.parametrize("size", [(1, 1), slow((2, 1)), (10, 3), slow((40, 10)), slow((500, 200))])
async def test_any_size_is_lived_with(pilot: Play, size: tuple[int, int]) -> None:
    async with pilot(TEXT, size=size) as it:
        await it.type("question")
        await it.press("enter")
        await it.idle()
        await it.pilot.resize_terminal(80, 24)
        await it.pilot.pause()
        assert "1" in it.text()
        assert it.main.chat.conversation.turns[0].answer.text == TEXT


@pytest.mark.parametrize("size", [(1, 40), (2, 80), (3, 30)])
@pytest.mark.default_cases(1)
async def test_a_window_too_narrow_for_the_empty_prompt_is_lived_with(pilot: Play, size: tuple[int, int]) -> None:
    async with pilot(TEXT) as it:
        await it.pilot.resize_terminal(*size)
        await it.pilot.pause()
        it.text()
        await it.pilot.resize_terminal(80, 24)
        await it.ask("question")
        assert it.main.chat.conversation.turns[0].answer.text == TEXT


async def test_resizes_while_text_comes_keep_draft_and_focus(pilot: Play) -> None:
    async with pilot(replier=Slow([TEXT])) as it:
        await it.type("question")
        await it.press("enter")
        await it.type("draft")
        for size in ((2, 1), (80, 24), (30, 8), (200, 60), (79, 29), (101, 31), (1, 40), (120, 40)):
            await it.pilot.resize_terminal(*size)
            await it.pilot.pause(0.02)
        await it.idle()
        assert it.main.query_one(Prompt).text == "draft"
        assert it.main.focused is it.main.query_one(Prompt)
        assert it.main.transcript.last_answer is not None
        assert it.main.transcript.last_answer.source == TEXT


async def test_text_is_followed_only_while_its_end_is_in_view(pilot: Play) -> None:
    async with pilot("line\n\n" * 60, size=(80, 24)) as it:
        await it.ask("first")
        transcript = it.main.transcript
        assert transcript.scroll_y == transcript.max_scroll_y > 0
        await it.press("pageup")
        await it.until(lambda: transcript.scroll_y < transcript.max_scroll_y)
        at = transcript.scroll_y
        await it.main.transcript.last_answer.append("more\n\n" * 30)  # type: ignore[union-attr]
        await it.pilot.pause()
        it.main.replies.mark_new_text()
        await it.pilot.pause()
        assert transcript.scroll_y == at
        assert "↓ new text" in it.text()
        await it.press("ctrl+end")
        await it.pilot.pause()
        assert transcript.scroll_y == transcript.max_scroll_y
        assert "↓ new text" not in it.text()


async def test_of_a_narrow_screen_f2_gives_the_panel_a_part_and_back(pilot: Play) -> None:
    async with pilot("hello world", size=(80, 24)) as it:
        await it.ask("hi")
        assert "who guessed" not in it.text()
        await it.press("f2")
        assert "who guessed" in it.text()
        assert "hello world" in it.text()
        assert not it.main.query_one("#status").display
        await it.press("f2")
        assert "who guessed" not in it.text()
        assert it.main.query_one("#status").display


@pytest.mark.parametrize("width", [24, slow(40), 60, slow(72), 80, slow(100)])
@pytest.mark.default_cases(1)
async def test_the_footer_has_fewer_keys_and_cuts_none(pilot: Play, width: int) -> None:
    async with pilot("hello world", size=(width, 24)) as it:
        await it.ask("hi")
        for keys in ([], ["shift+tab"]):
            await it.press(*keys)
            await it.pilot.pause()
            shown = it.text().split("\n")[-1]
            words = [each.description for each in it.main.query(FooterKey)]
            assert "more" in words
            assert all(word in shown for word in words)
            assert sum(each.region.width for each in it.main.query(FooterKey)) <= width
