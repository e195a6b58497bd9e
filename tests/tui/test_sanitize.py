"""Nothing that a name, a draft, a paste or a list holds acts on the terminal: no control characters are drawn."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from textual import events

from lacli.chat import values
from lacli.chat.suggestions import MENTION, Partial, Suggester
from lacli_tui.actions import SLASH_WORDS
from lacli_tui.sanitize import visible_in_place
from lacli_tui.screens.line import LineScreen
from lacli_tui.widgets.prompt import Prompt
from tests.tui.conftest import Play, Playing

ACTS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
EVERY = "a" + "".join(map(chr, (*range(9), *range(11, 13), *range(14, 32), *range(0x7F, 0xA0)))) + "\x1b[31mz"
SHORT = "q\x1b[31mz\x07\x9b31m\x7f"
NAMES = ("esc\x1b[31mred.txt", "esc\nline.txt", "esc\x9bc1.txt", "esc\x7fdel.txt")


def drawn(it: Playing) -> str:
    """All that is written to the terminal but textual's own sequences."""
    strips = it.app.screen._compositor.render_strips()
    return "".join(segment.text for strip in strips for segment in strip)


@pytest.fixture
def named(tmp_path: Path) -> Path:
    try:
        for name in (*NAMES, "escort.txt"):
            (tmp_path / name).write_text("x")
        (tmp_path / os.fsdecode(b"esc\xff.txt")).write_text("x")
    except (OSError, ValueError):
        pytest.skip("this file system has no such names")
    return tmp_path


@pytest.mark.parametrize("typed", ["./esc", "{here}/esc", "../{name}/esc"])
def test_names_that_would_act_are_not_offered_however_the_folder_is_named(
    named: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.chdir(named)
    typed = typed.format(here=named, name=named.name)
    assert values.entries(typed) == ["escort.txt"]
    for kind in (MENTION, "file", "n file"):
        assert [each.title for each in Suggester(named, SLASH_WORDS).of(Partial(kind, typed, 0, 0))] == [
            typed + "ort.txt"
        ]


def test_each_character_keeps_its_place() -> None:
    text = EVERY + "\u202e\ud800é"
    assert len(visible_in_place(text)) == len(text)
    assert not ACTS.search(visible_in_place(text))
    assert visible_in_place("\tdéf\n") == "\tdéf\n"


class TestWhatIsDrawn:
    @pytest.mark.parametrize("how", ["put", "history", "insert", "paste"])
    async def test_of_a_draft(self, pilot: Play, how: str) -> None:
        async with pilot() as it:
            prompt = it.main.query_one(Prompt)
            if how == "history":
                prompt.remember([EVERY])
                await it.press("up")
            elif how == "paste":
                prompt.post_message(events.Paste(EVERY))
            else:
                getattr(prompt, how)(EVERY)
            await it.pilot.pause()
            assert prompt.text.startswith("a")
            assert " a" in drawn(it)
            assert not ACTS.search(drawn(it))

    @pytest.mark.parametrize("how", ["value", "placeholder", "title", "paste", "completed"])
    async def test_of_a_line_that_is_asked_for(self, pilot: Play, how: str) -> None:
        async with pilot() as it:
            given = {"value": "", "placeholder": "", how: SHORT + "\n\t"}
            screen = LineScreen(
                given.get("title", "Save"), given["placeholder"], given["value"], lambda _: [SHORT + "1", SHORT + "2"]
            )
            it.app.push_screen(screen)
            await it.pilot.pause()
            if how == "paste":
                screen._field.post_message(events.Paste(SHORT))
            elif how == "completed":
                await it.pilot.press("tab")
                await it.until(lambda: screen._field.value)
            await it.pilot.pause()
            assert ("qz" if how == "paste" else "q␛[31mz␇") in drawn(it)
            assert not ACTS.search(drawn(it))

    async def test_of_an_offer(self, pilot: Play, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(values, "_sessions", lambda: [("12345678", EVERY + "\nmore"), ("1234\x1b[31m", "x")])
        async with pilot() as it:
            await it.pilot.press(*(dict(zip("/ ", ("slash", "space"), strict=True)).get(c, c) for c in "/sessions 1"))
            await it.until(lambda: "12345678" in it.text())
            assert not ACTS.search(drawn(it))
            assert "1234␛" not in it.text()
