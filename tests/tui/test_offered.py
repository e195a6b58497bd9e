"""What fits the word that is typed: which word it is, what is offered, and that no key is taken from the draft."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual import events

from lacli.chat import values
from lacli.prompts import saved
from lacli_tui.actions import ACTIONS
from lacli_tui.suggestions import COMMAND, MENTION, Begun, Offers, begun
from lacli_tui.widgets.offered import MOST_ROWS, Offered
from lacli_tui.widgets.prompt import Prompt
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
    seen = it.main.query_one(Offered)
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
    await it.until(lambda: not prompt(it)._looks)
    await it.pilot.pause()


class TestWhichWord:
    @pytest.mark.parametrize(
        ("draft", "found"),
        [
            ("@", Begun(MENTION, "", 0, 0)),
            ("use the @inv", Begun(MENTION, "inv", 0, 8)),
            ("a\n(@src/", Begun(MENTION, "src/", 1, 1)),
            ('see @"two w', Begun(MENTION, "two w", 0, 4)),
            ("foo@bar.com", None),
            ("\\@x", None),
            ("@property is", None),
            ("@inv ", None),
            ("/", Begun(COMMAND, "", 0, 0)),
            ("/RE", Begun(COMMAND, "re", 0, 0)),
            ("/tmp/x", None),
            ("/x\ny", None),
            ("a /re", None),
            ("/model qw", Begun("model", "qw", 0, 7)),
            ("/save 2 a/b", Begun("n file", "a/b", 0, 8)),
            ("/file 2 a/b", None),
            ("/template name words", None),
            ("/undo x", None),
        ],
    )
    def test_it_ends_at_the_cursor_and_begins_with_a_sign(self, draft: str, found: Begun | None) -> None:
        lines = draft.split("\n")
        assert begun(lines, len(lines) - 1, len(lines[-1])) == found

    def test_in_the_middle_of_a_word_nothing_is_begun(self) -> None:
        assert begun(["@abc"], 0, 2) is None
        assert begun(["(@abc)"], 0, 5) == Begun(MENTION, "abc", 0, 1)


class TestWhatFits:
    def of(self, project: Path, kind: str, typed: str) -> list[str]:
        return [each.text for each in Offers(project, ["dark", "light"]).of(Begun(kind, typed, 0, 0))]

    def test_nothing_typed_offers_what_lies_here(self, project: Path) -> None:
        assert self.of(project, MENTION, "") == ["@src/", "@tests/", "@inventory.py ", '@"two words.py" ']
        assert self.of(project, MENTION, "src/") == ["@src/deep/", "@src/inner.py "]

    def test_letters_offer_files_that_begin_so_then_folders_then_the_others(self, project: Path) -> None:
        assert self.of(project, MENTION, "in") == ["@inventory.py ", "@src/inner.py ", "@tests/test_inventory.py "]
        assert self.of(project, MENTION, "s")[0] == "@src/"

    def test_what_is_typed_whole_offers_nothing(self, project: Path) -> None:
        assert self.of(project, MENTION, "inventory.py") == ["@tests/test_inventory.py "] or not self.of(
            project, MENTION, "src/inner.py"
        )
        assert self.of(project, COMMAND, "undo") == []
        assert self.of(project, "theme", "dark") == []

    def test_all_commands_of_the_registry_and_no_other(self, project: Path) -> None:
        words = {each.split()[0] for each in self.of(project, COMMAND, "")}
        assert words == {f"/{action.slash}" for action in ACTIONS if action.slash} | {"/quit", "/?"}

    def test_behind_a_command_its_own(self, project: Path) -> None:
        saved.save(saved.Saved("review", prompt="Review $input"))
        assert self.of(project, "template", "re") == ["review "]
        assert self.of(project, "option", "temp") == ["temperature "]
        assert self.of(project, "theme", "l") == ["light"]
        assert "qwen2.5-coder-1.5b" in self.of(project, "model", "qwen2.5-coder-1")
        assert self.of(project, "file", "inv")[0] == "inventory.py"
        assert self.of(project, "file", f"{project}/sr") == [f"{project}/src/"]

    def test_a_new_file_is_written_without_a_question(self, project: Path) -> None:
        assert all(not each.begun for each in Offers(project).of(Begun("n file", "inv", 0, 0)))


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
            assert it.main.query_one(Offered).region.bottom == prompt(it).region.y
            assert "› inventory.py" in it.text()

    @pytest.mark.parametrize("size", [(80, 24), (40, 12)])
    async def test_it_has_eight_rows_at_most(self, pilot: Play, size: tuple[int, int]) -> None:
        async with pilot(size=size) as it:
            await typing(it, "/")
            region = it.main.query_one(Offered).region
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
            await it.pilot.click(Offered, offset=(4, 3))
            await settled(it)
            assert prompt(it).text == "see @inventory.py "
            assert it.app.focused is prompt(it)
