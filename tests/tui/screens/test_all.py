"""What all screens share: they fit into every size, escape goes back, no text of users and models is markup."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.filter import Monochrome, NoColor
from textual.screen import Screen
from textual.widgets import Input

from lacli.verbs.inforce import Row
from lacli.verbs.places import completions
from lacli_tui.actions import ACTIONS
from lacli_tui.screens.confirm import ConfirmScreen
from lacli_tui.screens.diff import DiffScreen
from lacli_tui.screens.files import FilesScreen
from lacli_tui.screens.help import HelpScreen
from lacli_tui.screens.line import LineScreen
from lacli_tui.screens.models import Model, ModelsScreen
from lacli_tui.screens.palette import PaletteScreen
from lacli_tui.screens.pool import Learned, PoolScreen
from lacli_tui.screens.sessions import SessionsScreen
from lacli_tui.screens.settings import SettingsScreen
from lacli_tui.widgets.pairs import Pair
from tests.tui.conftest import Play
from tests.tui.screens.conftest import NOTHING, Open, over
from tests.tui.screens.test_sessions import Told

ODD = "[/a].py [bold"
SCREENS: dict[str, Callable[[], Screen[Any]]] = {
    "confirm": lambda: ConfirmScreen(f"Delete {ODD}?", yes=ODD),
    "diff": lambda: DiffScreen(ODD, f"--- {ODD}\n+++ {ODD}\n@@ -1 +1 @@\n-{ODD}\n+a[0] = b[/x]\n", [ODD]),
    "files": lambda: FilesScreen(Path()),
    "help": lambda: HelpScreen({"retry": "f6"}),
    "line": lambda: LineScreen(ODD, ODD, ODD),
    "models": lambda: ModelsScreen(ODD, lambda tell: [Model(ODD, ODD, "1B", True, problem=ODD)]),
    "palette": lambda: PaletteScreen([action for action in ACTIONS if action.palette]),
    "pool": lambda: PoolScreen(Path(), look=lambda folder: [Learned(Path("p"), Path(ODD), 5, damage=ODD, used_s=1.0)]),
    "sessions": lambda: SessionsScreen("", None, store=Told),
    "settings": lambda: SettingsScreen([(ODD, [Row(ODD, ODD)])], look=lambda: [Pair(ODD, ODD, more=ODD)]),
}
NO = ("confirm", "diff")
SAY_IT = ("confirm", "diff", "line", "models", "pool", "settings", "sessions")


@pytest.mark.parametrize("size", [(40, 15), (12, 4)])
async def test_each_is_seen_in_every_size_and_escape_goes_back(
    pilot: Play, tmp_path: Path, size: tuple[int, int]
) -> None:
    (tmp_path / "[a].py").write_text("x")
    async with pilot(size=size) as app:
        for name, made in SCREENS.items():
            async with over(app, made()) as it:
                if size >= (40, 15):
                    assert "esc" in it.it.text(), name
                await it.press("escape")
                assert it.result is (False if name in NO else None), name


async def test_every_kind_lives_through_being_made_small_and_large_again(pilot: Play) -> None:
    async with pilot() as app:
        for name in ("confirm", "diff", "help", "models"):
            async with over(app, SCREENS[name]()) as it:
                await it.it.pilot.resize_terminal(2, 1)
                await it.it.pilot.resize_terminal(80, 24)
                assert it.result is NOTHING
                assert "esc" in it.it.text()
                await it.press("escape")


async def test_text_is_literal_and_a_bare_console_gets_ascii_and_no_colours(
    pilot: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.setenv("NO_COLOR", "1")
    async with pilot(size=(80, 24)) as app:
        filters = [type(each) for each in app.app.get_line_filters()]
        assert NoColor in filters
        assert Monochrome not in filters  # which makes black on black of the terminal's own colours
        for name, made in SCREENS.items():
            async with over(app, made()) as it:
                await it.until("esc", *([ODD] if name in SAY_IT else []))
                await it.it.pilot.pause()
                assert {letter for letter in it.it.text() if letter > "~"} == set(), name
                await it.press("escape")


async def test_keys_of_the_user_are_used_and_told(opened: Open) -> None:
    async with opened(ConfirmScreen("Sure?"), keymap={"confirm-yes": "f7", "close": "f8"}) as it:
        assert "(f7)" in it.it.text()
        assert "f8 back" in it.it.text()
        await it.press("y")
        assert it.result is NOTHING
        await it.press("f7")
        assert it.result is True


async def test_help_has_every_action_and_the_users_keys(opened: Open) -> None:
    screen = HelpScreen({"retry": "f6"})
    async with opened(screen, (200, 170)) as it:
        seen = await it.until("At the prompt")
        for action in ACTIONS:
            assert action.title in seen, action.id
            if action.slash:
                assert f"/{action.slash}" in seen
        assert any(line.split()[1:2] == ["f6"] and "Ask the last question again" in line for line in seen.split("\n"))
        await it.it.pilot.resize_terminal(80, 24)
        await it.press("end")
        await it.until("context, memory")
        await it.press("home")
        await it.until("At the prompt")
        await it.press("ctrl+end")
        await it.until("context, memory")
        await it.press("ctrl+home")
        await it.until("At the prompt")


async def test_help_names_every_action_that_may_have_other_keys(opened: Open) -> None:
    async with opened(HelpScreen({"retry": "f6"}), (120, 140)) as it:
        await it.until("At the prompt", "n names")
        await it.press("n")
        seen = await it.until("In the diff before a change", "n keys and commands")
        for action in ACTIONS:
            assert action.id in seen or action.id == "message-block", action.id
        assert "retry f6 Ask the last question again" in " ".join(seen.split())
        await it.press("n")
        await it.until("Commands, typed at the prompt")


async def test_settings_tell_what_was_found_and_copy_it(opened: Open) -> None:
    copied: list[str] = []
    look = [Pair("ok   torch", "2.13"), Pair("warn git", "not found", more="install git")]
    groups = [("Engine", [Row("quant", "int4"), Row("threads", "4", changed=True)])]
    origins = {"quant": "config.toml:3", "threads": "built-in"}
    async with opened(SettingsScreen(groups, copied.append, lambda: look, lambda: origins)) as it:
        await it.until("quant", "int4  config.toml:3", "4  set here", "ok   torch", "install git")
        await it.press("y")
        await it.until("copied")
    assert "warn git             not found install git\n" in copied[0]


async def test_settings_look_at_versions_folders_and_what_doctor_looks_at(
    opened: Open, monkeypatch: pytest.MonkeyPatch, sandbox: Path
) -> None:
    monkeypatch.setattr("lacli.health.probe_torch", lambda: {"version": "2.13.0+cpu", "cuda": False})
    async with opened(SettingsScreen(), (160, 60)) as it:
        seen = await it.until("Program", "ok   torch", "ok   log", "scroll")
    assert str(sandbox / "data" / "sessions.db") in seen
    assert "fail" not in seen.lower() or "FAIL model" in seen


async def test_a_question_is_answered_by_keys_and_by_a_click_and_enter_alone_is_no(pilot: Play) -> None:
    async with pilot(size=(80, 24)) as app:
        for keys, answer in (
            (["enter"], False),
            (["y"], True),
            (["n"], False),
            (["right", "enter"], True),
            (["tab", "tab", "enter"], False),
        ):
            async with over(app, ConfirmScreen("Delete it?", yes="delete")) as it:
                await it.press(*keys)
                assert it.result is answer, keys
        async with over(app, ConfirmScreen("Delete it?")) as it:
            await it.it.pilot.click("#answers", offset=(14, 0))
            assert it.result is True


async def test_what_is_typed_in_a_line_is_the_result_and_nothing_is_none(pilot: Play) -> None:
    async with pilot() as app:
        async with over(app, LineScreen("Save to", "a path", "a")) as it:
            await it.press("b", "enter")
            assert it.result == "ab"
        async with over(app, LineScreen("Save to")) as it:
            await it.press("enter")
            assert it.result is None


async def test_tab_completes_a_path_as_far_as_all_that_fit_agree_and_shows_them(pilot: Play, tmp_path: Path) -> None:
    for name in ("source", "sources"):
        (tmp_path / name).mkdir()
    (tmp_path / "source" / "a.py").write_text("")
    async with pilot() as app, over(app, LineScreen("Save to", complete=completions)) as it:
        field = it.it.app.screen.query_one(Input)
        await it.press("s", "tab")
        await it.until("source/  sources/")
        assert field.value == "source"
        await it.press("slash", "tab")
        await it.it.until(lambda: field.value == "source/a.py")
        await it.press("x", "tab")
        await it.until("nothing fits")
        await it.press("enter")
        assert it.result == "source/a.pyx"


class TestDiff:
    DIFF = "--- a\n+++ a\n@@ -1,2 +1,2 @@\n-- old\n++ new\n same\twith a tab\n"

    async def test_y_makes_the_change_and_enter_takes_what_is_marked_which_is_at_first_not_to(
        self, pilot: Play
    ) -> None:
        async with pilot(size=(80, 24)) as app:
            async with over(app, DiffScreen("Change a?", self.DIFF, ["a note"])) as it:
                await it.until("+1 −1 in 1 place", "a note", " same   with a tab")
                assert "› leave it (n)" in it.it.text()
                await it.press("enter")
                assert it.result is False
            for keys, result in ((["y"], True), (["n"], False), (["tab", "enter"], True)):
                async with over(app, DiffScreen("Change a?", self.DIFF)) as it:
                    await it.press(*keys)
                    assert it.result is result

    async def test_long_lines_are_wrapped_or_go_on_to_the_right(self, opened: Open) -> None:
        async with opened(DiffScreen("x", f"@@ -1 +1 @@\n+{'x' * 100}END\n" + "+y\n" * 50)) as it:
            await it.until("END")
            await it.press("w")
            assert "END" not in it.it.text()
            await it.press("end")
            await it.until("+y")
