"""The palette has every action that applies, and does it."""

from __future__ import annotations

import pytest

from lacli_tui.actions import ACTIONS, APP
from lacli_tui.screens.palette import PaletteScreen
from lacli_tui.widgets.choices import Choices
from tests.tui.conftest import Play


async def test_every_action_that_applies_is_found_by_its_title_and_done(
    pilot: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    async with pilot(size=(80, 24)) as it:
        wanted = it.app.available_actions()
        assert {action.id for action in ACTIONS if action.palette} - {action.id for action in wanted} == {
            "not-now",
            "stop",
        }
        assert all(hasattr(it.app, f"action_{each.method}") or each.id in it.main.commands for each in wanted)
        for action in (wanted[0], wanted[len(wanted) // 2], wanted[-1]):
            if action.where == APP:
                monkeypatch.setattr(it.app, f"action_{action.method}", lambda *rest, id_=action.id: done.append(id_))
            else:
                monkeypatch.setitem(it.main.commands, action.id, lambda *rest, id_=action.id: done.append(id_))
            await it.press("ctrl+p")
            await it.until(lambda: isinstance(it.app.screen, PaletteScreen) and it.app.screen.query(Choices))
            it.app.screen.query_one("#search").insert_text_at_cursor(action.title)  # type: ignore[attr-defined]
            await it.press("enter")
            await it.until(lambda expected=action.id: done[-1:] == [expected])
        assert it.app.screen is it.main
        for action in wanted:  # by its title alone it is the first that is found
            screen = PaletteScreen(wanted)
            assert screen._lines.search(action.title)[0][0].text.startswith(action.title), action.id


async def test_it_is_found_by_other_names_and_tells_the_users_keys(pilot: Play) -> None:
    async with pilot(size=(80, 24), keymap={"retry": "f6"}) as it:
        await it.press("ctrl+p", "r", "e", "t", "r", "y")
        await it.until(lambda: any("f6" in line and "/retry" in line for line in it.text().split("\n")))
        await it.press("ctrl+p", "f1")
        assert isinstance(it.app.screen, PaletteScreen)
        await it.press("escape")
        assert it.app.screen is it.main


async def test_nothing_is_done_without_a_choice(pilot: Play) -> None:
    async with pilot(size=(80, 24)) as it:
        await it.press("ctrl+p", "z", "z", "z", "enter")
        assert "no command fits" in it.text()
        await it.press("escape")
        assert it.app.screen is it.main


async def test_keys_that_come_faster_than_the_list_choose_what_was_typed(pilot: Play) -> None:
    async with pilot(size=(80, 24)) as it:
        it.app.action_palette()
        await it.until(lambda: isinstance(it.app.screen, PaletteScreen) and it.app.screen.query(Choices))
        screen = it.app.screen
        done: list[str] = []
        it.app.perform = lambda id_, rest="": done.append(id_)  # type: ignore[method-assign]
        screen.query_one("#search").insert_text_at_cursor("quit")  # type: ignore[attr-defined]
        screen.action_choose()  # type: ignore[attr-defined]
        await it.until(lambda: done == ["leave"])
