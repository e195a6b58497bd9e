"""What all screens share: they fit into every size, escape goes back, no text of users and models is markup."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.filter import Monochrome, NoColor
from textual.screen import Screen
from textual.widgets import Input

from lacli.chat.settings_summary import Row
from lacli.chat.targets import completions
from lacli.errors import LacliError
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
from tests.slow import slow
from tests.tui.conftest import Play, changes
from tests.tui.screens.conftest import NOTHING, Open, over
from tests.tui.screens.test_sessions import Told

ODD = "[/a].py [bold"
SCREENS: dict[str, Callable[[], Screen[Any]]] = {
    "confirm": lambda: ConfirmScreen(f"Delete {ODD}?", yes=ODD),
    "diff": lambda: DiffScreen(ODD, changes(f"{ODD}\n", "a[0] = b[/x]\n"), [ODD]),
    "files": lambda: FilesScreen(Path()),
    "help": lambda: HelpScreen({"retry": "f6"}),
    "line": lambda: LineScreen(ODD, ODD, ODD),
    "models": lambda: ModelsScreen(ODD, lambda tell: [Model(ODD, ODD, "1B", True, problem=ODD)]),
    "palette": lambda: PaletteScreen([action for action in ACTIONS if action.palette]),
    "pool": lambda: PoolScreen(Path(), look=lambda folder: [Learned(Path("p"), Path(ODD), 5, damage=ODD, used_s=1.0)]),
    "sessions": lambda: SessionsScreen("", None, store=Told),
    "settings": lambda: SettingsScreen([(ODD, [Row(ODD, ODD)])], look=lambda: [Pair(ODD, ODD, more=ODD)]),
}
NO = ("confirm",)
SAY_IT = ("confirm", "diff", "line", "models", "pool", "settings", "sessions")


@pytest.mark.parametrize("size", [(40, 15), slow((12, 4))])
@pytest.mark.slow
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


@pytest.mark.slow
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
    async with opened(HelpScreen({"retry": "f6"}), (120, 150)) as it:
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
    monkeypatch.setattr("lacli.shared.health.probe_torch", lambda: {"version": "2.13.0+cpu", "cuda": False})
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
    OLD = "- old\nsame\twith a tab\n"
    NEW = "+ new\nsame\twith a tab\n"
    MANY = "".join(f"x{number} = {number}\n" for number in range(40))
    FIRST, SECOND, THIRD = ("x3 =", "three ="), ("x6 =", "six ="), ("x30 =", "thirty =")

    def changed(self, *changes: tuple[str, str]) -> str:
        text = self.MANY
        for before, after in changes:
            text = text.replace(before, after)
        return text

    def screen(self, edited: Callable[[str], str] = str) -> DiffScreen:
        new = self.changed(self.FIRST, self.SECOND, self.THIRD)
        return DiffScreen("Change a?", changes(self.MANY, new), edited=edited)

    async def test_y_makes_the_change_and_enter_takes_what_is_marked_which_is_at_first_not_to(
        self, pilot: Play
    ) -> None:
        async with pilot(size=(80, 24)) as app:
            async with over(app, DiffScreen("Change a?", changes(self.OLD, self.NEW), ["a note"])) as it:
                await it.until("1 of 1 hunk · +1 −1", "a note", "-- old", "++ new", " same   with a tab")
                assert "› leave it (n)" in it.it.text()
                await it.press("enter")
                assert it.result is None
            new = self.NEW.encode()
            for keys, result in ((["y"], new), (["n"], None), (["tab", "enter"], new), (["space", "y"], None)):
                async with over(app, DiffScreen("Change a?", changes(self.OLD, self.NEW))) as it:
                    await it.press(*keys)
                    assert it.result == result
            async with over(app, DiffScreen("Make a?", changes("", ""))) as it:
                await it.press("space", "a", "j", "k", "e", "s", "y")
                assert it.result == b""

    async def test_hunks_are_taken_or_left_and_signs_tell_which(self, pilot: Play) -> None:
        async with pilot(size=(80, 40)) as app:
            async with over(app, self.screen()) as it:
                await it.until("2 of 2 hunks · +3 −3", "▌ [x] @@ -1,10 +1,10 @@", "apply (y)")
                await it.press("space")
                await it.until("1 of 2 hunks · +1 −1", "▌ [ ] @@ -1,10", "▌×-x3 = 3", "▌  x4 = 4", "apply 1 of 2 (y)")
                await it.press("j")
                await it.until("▌ [x] @@ -28,7 +28,7 @@ x26 = 26", "  [ ] @@ -1,10", "▌ +thirty = 30")
                await it.press("y")
                assert it.result == self.changed(self.THIRD).encode()
            async with over(app, self.screen()) as it:
                await it.press("s")
                await it.until("3 of 3 hunks", "▌ [x] @@ -1,5 +1,5 @@")
                await it.press("j", "space")
                await it.until("2 of 3 hunks", "▌ [ ] @@ -6,5 +6,5 @@ x4 = 4")
                await it.press("s")
                await it.until("there is nothing to split in this hunk")
                await it.press("k", "space", "j", "j", "j", "y")
                assert it.result == self.changed(self.THIRD).encode()
            async with over(app, self.screen()) as it:
                await it.press("a")
                await it.until("0 of 2 hunks · +0 −0", "apply 0 of 2 (y)")
                await it.press("space", "a")
                await it.until("2 of 2 hunks")
                await it.press("a", "y")
                assert it.result is None

    async def test_the_hunk_that_is_meant_is_in_view(self, opened: Open) -> None:
        async with opened(self.screen()) as it:
            assert "thirty" not in it.it.text()
            await it.press("j")
            await it.until("▌ [x] @@ -28,7", "▌  x33 = 33")
            await it.press("home")
            await it.until("@@ -1,10")
            await it.press("space")
            await it.until("▌ [ ] @@ -28,7", "▌  x33 = 33")

    async def test_a_terminal_of_ascii_tells_it_too(self, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in ("glyphs", "screens.diff", "screens.dialog"):
            monkeypatch.setattr(f"lacli_tui.{module}.is_ascii_terminal", lambda: True)
        async with opened(self.screen()) as it:
            await it.press("space")
            await it.until("| [ ] @@ -1,10 +1,10 @@", "|x-x3 = 3", "1 of 2 hunks | +1 -1")

    async def test_a_hunk_is_edited_in_the_users_editor(self, pilot: Play, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("textual.drivers.headless_driver.HeadlessDriver.can_suspend", True)
        seen: list[str] = []

        def editor(text: str) -> str:
            seen.append(text)
            if len(seen) == 1:
                return text.replace("+three", "*drei")
            if len(seen) == 2:
                raise LacliError("the editor x ended with code 3", "nothing was changed")
            return "" if len(seen) == 4 else text.replace("*drei", "+drei")

        async with pilot(size=(80, 24)) as app, over(app, self.screen(editor)) as it:
            await it.press("e")
            await it.until("the line '*drei = 3' begins with no blank, + or -; edit it again")
            await it.press("e")
            await it.until("the editor x ended with code 3")
            await it.press("e")
            await it.until("▌ [e] @@ -1,10", "+drei = 3", "2 of 2 hunks")
            assert "*drei" in seen[2]
            await it.press("e")
            await it.until("nothing is left of it: the hunk is as it was", "+drei = 3")
            await it.press("s")
            await it.until("an edited hunk is not split")
            await it.press("space", "space", "j", "space", "y")
            assert it.result == self.changed(("x3 =", "drei ="), self.SECOND).encode()

    async def test_long_lines_are_wrapped_or_go_on_to_the_right(self, opened: Open) -> None:
        async with opened(DiffScreen("x", changes("", f"{'x' * 100}END\n" + "y\n" * 50))) as it:
            await it.until("END")
            await it.press("w")
            assert "END" not in it.it.text()
            await it.press("end")
            await it.until("+y")
