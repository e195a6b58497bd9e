"""Other colours: the picker of themes, `/theme NAME`, what is kept, and none at all."""

from __future__ import annotations

import pytest

from lacli.errors import UsageError
from lacli_tui.screens.themes import ThemesScreen
from tests.tui.conftest import Play, Playing


async def _opened(it: Playing) -> None:
    it.app.perform("theme")
    await it.until(lambda: isinstance(it.app.screen, ThemesScreen))
    await it.pilot.pause()


def _said(it: Playing) -> list[str]:
    return it.main.notice_bar.texts


async def test_a_theme_is_seen_while_the_mark_moves_and_escape_brings_the_old_one_back(pilot: Play) -> None:
    kept: list[str] = []
    async with pilot("hello", keep_theme=lambda name: kept.append(name) or "") as it:
        await _opened(it)
        assert it.app.theme == "dark"
        await it.press("down")
        assert it.app.theme == "light"
        await it.press("escape")
        assert (it.app.theme, kept) == ("dark", [])


async def test_enter_keeps_the_theme_and_says_where(pilot: Play) -> None:
    async with pilot("hello", keep_theme=lambda name: f"kept {name} in that file") as it:
        await _opened(it)
        await it.press(*"ansi", "enter")
        await it.until(lambda: _said(it) == ["theme ansi: kept ansi in that file"])
        assert it.app.theme == "ansi"
        assert it.app.native_ansi_color


async def test_a_theme_that_cannot_be_kept_is_that_of_this_run(pilot: Play) -> None:
    def fails(name: str) -> str:
        raise UsageError("the file is broken", "mend it")

    async with pilot("hello", keep_theme=fails) as it:
        await it.ask("/theme light")
        await it.until(lambda: _said(it) == ["the file is broken\nmend it"])
        assert it.app.theme == "light"


async def test_a_theme_that_there_is_not_changes_nothing(pilot: Play) -> None:
    async with pilot("hello") as it:
        await it.ask("/theme ligth")
        await it.until(lambda: bool(_said(it)))
        assert _said(it)[0].startswith("there is no theme 'ligth'\ndid you mean light?")
        assert it.app.theme == "dark"


@pytest.mark.parametrize("theme", ["dark", "ansi", "nord"])
@pytest.mark.default_cases(1)
async def test_without_colours_there_are_none_in_any_theme(
    pilot: Play, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with pilot("some `code`", theme=theme) as it:
        await it.ask("hello")
        assert not coloured(it)
        await _opened(it)
        await it.press("down")
        assert not coloured(it)


def coloured(it: Playing) -> list[tuple[str, str]]:
    """What has a colour as the terminal gets it."""
    strips = it.app.screen._compositor.render_strips()
    for line_filter in it.app._filters:
        if line_filter.enabled:
            strips = [strip.apply_filter(line_filter, it.app.background_colors[0]) for strip in strips]
    found = [(text, style) for strip in strips for text, style, _ in strip if style is not None]
    colours = [(text, colour) for text, style in found for colour in (style.color, style.bgcolor) if colour]
    return [(text, str(colour)) for text, colour in colours if not colour.is_default]


async def test_what_is_in_force_is_told_as_people_read_it(pilot: Play) -> None:
    async with pilot("hello", theme="light", model="some-model") as it:
        rows = {row.key: row for _, group in it.main.requests.settings_in_force() for row in group}
        assert (rows["model"].text, rows["theme"].text) == ("some-model", "light")
        assert (rows["stop"].text, rows["lookahead"].text, rows["project-mb"].text) == ("none", "on", "at most 64.0 MB")
        for row in rows.values():
            assert not {"None", "()", "True", "False", "—"} & set(row.text.split())
        assert not any(row.changed for row in rows.values())
        await it.type("/set temperature 0.7")
        await it.press("enter")
        changed = [row for _, group in it.main.requests.settings_in_force() for row in group if row.changed]
        assert [(row.key, row.text) for row in changed] == [("temperature", "0.7")]


@pytest.mark.parametrize("theme", ["", "light"])
async def test_without_colours_cursor_and_marked_line_are_seen(
    pilot: Play, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with pilot("hello", theme=theme) as it:
        await it.type("words")
        assert _reversed(it) == [" "]
        await _opened(it)
        marked = _reversed(it)
        assert any(text.startswith(f" › {theme or 'ansi'}") for text in marked)
        assert len(marked) == 3  # the prompt's cursor, the search field's, the marked line


def _reversed(it: Playing) -> list[str]:
    """What is drawn in exchanged colours."""
    strips = it.app.screen._compositor.render_strips()
    return [text for strip in strips for text, style, _ in strip if style is not None and style.reverse]
