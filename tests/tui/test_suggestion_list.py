"""What fits the word that is typed: which word it is, what is offered, and that no key is taken from the draft."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual import events

from lacli.chat import values
from lacli.chat.suggestions import COMMAND, Partial, Suggester
from lacli_tui.actions import ACTIONS, SLASH_WORDS
from lacli_tui.widgets.prompt import Prompt
from lacli_tui.widgets.suggestion_list import MOST_ROWS, SuggestionList
from tests.slow import slow
from tests.tui.conftest import Play, Playing


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("inventory.py", "two words.py", "src/inner.py", "src/deep/property.py", "tests/test_inventory.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    return tmp_path


def prompt(it: Playing) -> Prompt:
    return it.main.prompt


def offered(it: Playing) -> list[str]:
    seen = it.main.query_one(SuggestionList)
    return [each.title for each in seen.choices] if seen.is_open else []


async def typing(it: Playing, text: str) -> None:
    """Key by key, with what fits each looked up."""
    names = {" ": "space", "\n": "ctrl+j"}
    for letter in text:
        await it.pilot.press(names.get(letter, letter))
    await settled(it)


async def settled(it: Playing) -> None:
    await it.until(lambda: not prompt(it).is_waiting)
    await it.pilot.pause()
    await it.until(lambda: not prompt(it)._is_looking_up)
    await it.pilot.pause()


def test_all_commands_of_the_registry_are_suggested_and_no_other(project: Path) -> None:
    suggester = Suggester(project, SLASH_WORDS)
    words = {each.text.split()[0] for each in suggester.of(Partial(COMMAND, "", 0, 0))}
    assert words == {f"/{action.slash}" for action in ACTIONS if action.slash} | {"/quit", "/?"}


class TestAtThePrompt:
    @pytest.mark.parametrize(
        "text",
        ["use the @property decorator", slow("@Override void"), "npm i @types/node now", slow("to foo@bar.com please")],
    )
    async def test_no_key_is_lost_and_enter_sends(self, pilot: Play, project: Path, text: str) -> None:
        async with pilot("ok") as it:
            await typing(it, text)
            assert prompt(it).text == text
            await it.press("enter")
            await it.idle()
            assert it.assistant.requests[0].messages[-1].text == text

    async def test_it_stands_over_what_was_said_and_moves_nothing(self, pilot: Play, project: Path) -> None:
        async with pilot("ok") as it:
            await it.ask("hi")
            before = prompt(it).region, it.main.transcript.region
            await typing(it, "see @in")
            assert (prompt(it).region, it.main.transcript.region) == before
            assert it.main.query_one(SuggestionList).region.bottom == prompt(it).region.y
            assert "› inventory.py" in it.text()

    @pytest.mark.parametrize("size", [(80, 24), (40, 12)])
    async def test_it_has_eight_rows_at_most(self, pilot: Play, size: tuple[int, int]) -> None:
        async with pilot(size=size) as it:
            await typing(it, "/")
            region = it.main.query_one(SuggestionList).region
            assert 0 < region.height <= MOST_ROWS + 1
            assert region.y >= 0
            assert "› /file" in it.text()

    async def test_tab_takes_and_a_folder_goes_on_into_it(self, pilot: Play, project: Path) -> None:
        async with pilot("ok") as it:
            await typing(it, "see @sr")
            await it.press("tab")
            await settled(it)
            assert prompt(it).text == "see @src/"
            assert offered(it) == ["src/deep/", "src/inner.py"]
            await it.press("down", "tab")
            assert prompt(it).text == "see @src/inner.py "
            assert not offered(it)
            await it.press("enter")
            await it.idle()
            (file,) = it.assistant.requests[0].messages[-1].attachments
            assert file.label == "src/inner.py"

    async def test_enter_takes_a_command_that_is_only_begun(self, pilot: Play, project: Path) -> None:
        async with pilot("ok") as it:
            for typed, taken in (("/ret", "/retry"), ("/file inv", "/file inventory.py")):
                await typing(it, typed)
                await it.press("enter")
                assert prompt(it).text == taken
                prompt(it).put("")

    @pytest.mark.parametrize("text", ["what is @property", "see @inv", slow("see @ntory"), slow("see @./inv")])
    async def test_enter_sends_a_question_as_it_is_typed(self, pilot: Play, project: Path, text: str) -> None:
        async with pilot("ok") as it:
            await typing(it, text)
            assert offered(it)
            await it.press("enter")
            await it.idle()
            assert it.assistant.requests[0].messages[-1].text == text
            assert not it.assistant.requests[0].messages[-1].attachments

    @pytest.mark.parametrize("typed", ["@inv", '@"two'])
    async def test_a_file_goes_only_while_its_name_stands_there(self, pilot: Play, project: Path, typed: str) -> None:
        async with pilot("ok", "ok") as it:
            await typing(it, f"see {typed}")
            await it.press("tab")
            text = prompt(it).text
            assert text in ("see @inventory.py ", 'see @"two words.py" ')
            await it.press("ctrl+u")
            await it.ask("hello")
            assert not it.assistant.requests[0].messages[-1].attachments
            await it.ask(text)
            assert len(it.assistant.requests[1].messages[-1].attachments) == 1

    @pytest.mark.parametrize("named", ["inventory.py", "./inventory.py", "{here}/inventory.py", "link.py"])
    @pytest.mark.parametrize("again", [slow(False), True])
    @pytest.mark.default_cases(1)
    async def test_a_file_is_sent_once_however_it_is_named(
        self, pilot: Play, project: Path, named: str, again: bool
    ) -> None:
        (project / "link.py").symlink_to("inventory.py")
        async with pilot("ok") as it:
            await it.attach("inventory.py")
            if again:
                await it.attach(named.format(here=project))
            await it.ask(f"what is @{named.format(here=project)} ?")
            (file,) = it.assistant.requests[0].messages[-1].attachments
            assert file.label == "inventory.py"

    async def test_a_folder_that_hangs_holds_up_no_other_list(
        self, pilot: Play, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, gone = values.entries, threading.Event()
        monkeypatch.setattr(values, "entries", lambda typed: gone.wait(30) if "dead/" in typed else real(typed))
        try:
            async with pilot() as it:
                for typed in ("/file ./dead/", "see @../dead/x"):
                    for letter in typed:
                        await it.pilot.press({" ": "space", "/": "slash", ".": "full_stop"}.get(letter, letter))
                    await it.until(lambda: not prompt(it).is_waiting)
                    prompt(it).put("")
                for typed, fits in (("/ret", "/retry"), ("see @inv", "inventory.py"), ("see @./inv", "./inventory.py")):
                    await typing(it, typed)
                    assert offered(it)[0] == fits
                    prompt(it).put("")
        finally:
            gone.set()

    async def test_enter_takes_where_the_mark_was_moved(self, pilot: Play, project: Path) -> None:
        async with pilot("ok") as it:
            await typing(it, "see @ntory")
            await it.press("up", "down", "enter")
            assert prompt(it).text == "see @inventory.py "

    async def test_escape_hides_it_for_this_word(self, pilot: Play, project: Path) -> None:
        async with pilot("ok") as it:
            await typing(it, "@in")
            assert offered(it)
            await it.press("escape")
            await typing(it, "v")
            assert not offered(it)
            assert prompt(it).text == "@inv"
            await typing(it, " @in")
            assert offered(it)

    async def test_a_space_or_another_place_ends_it(self, pilot: Play, project: Path) -> None:
        async with pilot("ok") as it:
            await typing(it, "a @in")
            await it.press("home")
            assert not offered(it)
            await it.press("end", "backspace")
            await settled(it)
            assert offered(it)
            await it.press("space")
            assert not offered(it)

    async def test_a_burst_is_completed_by_tab_and_a_paste_offers_nothing(self, pilot: Play, project: Path) -> None:
        async with pilot("ok") as it:
            for letter in "explain @in":
                it.app.post_message(events.Key({" ": "space"}.get(letter, letter), letter))
            await it.until(lambda: prompt(it).text == "explain @in")
            await settled(it)
            await it.press("tab")
            assert prompt(it).text == "explain @inventory.py "
            prompt(it).put("")
            prompt(it).post_message(events.Paste("explain @in"))
            await it.pilot.pause()
            await settled(it)
            assert not offered(it)
            await it.press("tab")
            await settled(it)
            assert offered(it)
            assert it.app.focused is prompt(it)

    async def test_the_arrows_still_find_what_was_typed_before(self, pilot: Play, project: Path) -> None:
        async with pilot("ok", "ok") as it:
            await it.ask("first")
            prompt(it).put("about @in")
            await it.press("enter")
            await it.idle()
            await it.press("up", "up")
            assert prompt(it).text == "first"

    async def test_a_click_takes_a_row(self, pilot: Play, project: Path) -> None:
        async with pilot("ok") as it:
            await typing(it, "see @")
            await it.pilot.click(SuggestionList, offset=(4, 3))
            await settled(it)
            assert prompt(it).text == "see @inventory.py "
            assert it.app.focused is prompt(it)
