"""Notices disappear by themselves, cover nothing and are shown once; what belongs to the chat stays."""

from __future__ import annotations

import pytest

from lacli.errors import OutOfMemory
from lacli_tui.widgets.prompt import Prompt
from tests.tui.conftest import Play, Playing

SAID = "there is no question to ask again"


async def retry_nothing(it: Playing) -> None:
    await it.type("/retry")
    await it.press("enter")
    await it.until(lambda: SAID in it.text())


async def test_it_is_over_with_a_key_pressed_once_it_could_be_read(pilot: Play) -> None:
    async with pilot() as it:
        await retry_nothing(it)
        await it.press("a")
        assert SAID in it.text()
        it.main.notice_bar.since -= 60
        await it.press("b")
        assert SAID not in it.text()
        assert it.main.prompt.text == "ab"


async def test_the_same_is_said_once_and_covers_nothing(pilot: Play) -> None:
    async with pilot(size=(80, 24)) as it:
        for _ in range(3):
            await retry_nothing(it)
        assert it.text().count(SAID) == 1
        prompt = it.main.query_one(Prompt)
        assert prompt.region.height >= 1
        assert it.main.notice_bar.region.bottom <= prompt.region.y


async def test_a_failed_reply_stays_in_the_talk(pilot: Play) -> None:
    async with pilot(OutOfMemory("the reply does not fit into memory", "use a smaller model")) as it:
        await it.ask("hi")
        it.main.notice_bar.since -= 60
        await it.press("a", "b")
        assert "the reply does not fit into memory" in it.text()
        assert not it.main.notice_bar.display


async def test_in_a_dialog_it_is_said_there(pilot: Play) -> None:
    async with pilot() as it:
        await it.press("f1")
        it.app.notify("something [b]odd[/b]\u202e")
        await it.pilot.pause()
        assert "something [b]odd[/b]<U+202E>" in it.text()


@pytest.mark.parametrize("count", [1, 9])
async def test_it_takes_no_more_than_its_part_of_the_screen(pilot: Play, count: int) -> None:
    async with pilot(size=(80, 24)) as it:
        for number in range(count):
            it.app.notify(f"news {number} " + "word " * 40)
        await it.pilot.pause()
        assert f"news {count - 1}" in it.text()
        assert it.main.notice_bar.region.height <= 8
        assert it.main.transcript.region.height >= 8
