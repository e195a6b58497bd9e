"""The picker of earlier chats: searched while typing, word for word; gone on with; deleted."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from textual.widgets import Input

from lacli.events import Counts, Message
from lacli.sessions.records import Hit, StoreUnavailable, Summary, Turn
from lacli.sessions.store import SessionStore, path
from lacli_tui.screens.sessions import SessionsScreen
from tests.tui.screens.conftest import NOTHING, Open


class Told(SessionStore):
    """A log that says what it is told to."""

    def __init__(self) -> None:
        super().__init__(Path("none.db"))

    def list(
        self,
        project: Path | None = None,
        everywhere: bool = False,
        limit: int | None = None,
        kinds: Collection[str] = (),
    ) -> Sequence[Summary]:
        return [Summary("1" * 16, "chat", Path("/[/a]"), "m", "[/a].py [bold", 1, 0.0, 0.0, True)]


@pytest.fixture
def kept(sandbox: Path) -> tuple[Path, list[str]]:
    """Chats in two projects; the ids, the one used last first."""
    store = SessionStore(path())
    here, other = sandbox / "here", sandbox / "there"
    ids = []
    for project, question, answer in (
        (other, "elsewhere", "nothing of note"),
        (here, "why [/INST] and x[/dim]", "don't use the wrong-book, 50% of the time"),
        (here, "ubuntu 20.04 or C++", "错题 and NEAR( and a:b"),
    ):
        id_ = store.begin("chat", project, "m")
        turn = Turn(
            Message("user", question), Message("assistant", answer), "stop", Counts(), 1_700_000_000.0 + len(ids)
        )
        store.append(id_, turn)
        ids.insert(0, id_)
    return here, ids


async def test_completions_and_edits_are_shown_on_request(opened: Open, kept: tuple[Path, list[str]]) -> None:
    here, ids = kept
    store = SessionStore(path())
    edit = store.begin("edit", here, "m")
    store.append(edit, Turn(Message("user", "a.py: use C++"), Message("assistant", "so"), "stop", Counts(), 1.8e9))
    async with opened(SessionsScreen("", here), (120, 30)) as it:
        await it.until("ubuntu 20.04 or C++", "shift+tab edits, too")
        assert it.keys == ids[:2]
        await it.type("C++")
        await it.it.until(lambda: it.keys == [ids[0]])
        await it.press("shift+tab")
        await it.until("a.py: use C++", "shift+tab chats alone")
        assert it.keys == [edit, ids[0]]


async def test_tab_shows_those_of_all_projects_and_enter_goes_on_with_one(
    opened: Open, kept: tuple[Path, list[str]]
) -> None:
    here, ids = kept
    async with opened(SessionsScreen("", here), (120, 30)) as it:
        await it.until("ubuntu 20.04 or C++", "why [/INST] and x[/dim]", "tab all projects")
        assert it.keys == ids[:2]
        await it.press("tab")
        await it.until("elsewhere", "/there", "tab this project")
        assert it.keys == ids
        await it.press("tab")
        await it.it.until(lambda: len(it.keys) == 2)
        await it.press("down", "enter")
        assert it.result == ids[1]


@pytest.mark.slow
async def test_what_is_typed_is_searched_word_for_word_and_never_an_error(
    opened: Open, kept: tuple[Path, list[str]]
) -> None:
    here, _ = kept
    async with opened(SessionsScreen("", here)) as it:
        field = it.screen.query_one("#search", Input)
        for text in ("wrong-book", "don't", "a:b", "C++", "NEAR(", "ubuntu 20.04", "错题", "50%", "[/INST]", "x[/dim]"):
            field.value = ""
            await it.it.until(lambda: len(it.keys) == 2)
            for letter in text:
                field.insert_text_at_cursor(letter)
                await it.it.pilot.pause()
                assert "cannot be used" not in it.it.text()
            await it.until("1 of 1", "1. ")
        for text in ('"half', "*", "''", "%_", "AND OR", "\\"):
            field.value = text
            await it.until("nowhere was this said")


async def test_one_is_deleted_once_the_user_is_sure(opened: Open, kept: tuple[Path, list[str]]) -> None:
    here, ids = kept
    async with opened(SessionsScreen(ids[1], here)) as it:
        await it.it.until(lambda: len(it.keys) == 2)
        await it.press("ctrl+d")
        await it.until("Delete “ubuntu 20.04 or C++” for good?")
        await it.press("escape")
        await it.it.until(lambda: it.it.app.screen is it.screen)
        assert len(SessionStore(path()).list(here)) == 2
        await it.press("ctrl+d")
        await it.until("Delete “")
        await it.press("y")
        await it.it.until(lambda: it.keys == [ids[1]])
        await it.until("deleted 1 chat", "this one")
        await it.press("ctrl+d")
        await it.until("this is the chat that is open")
        assert it.result is NOTHING
    assert [each.id for each in SessionStore(path()).list(here)] == [ids[1]]


async def test_a_log_that_cannot_be_read_is_one_line(opened: Open) -> None:
    class Broken(Told):
        def list(
            self,
            project: Path | None = None,
            everywhere: bool = False,
            limit: int | None = None,
            kinds: Collection[str] = (),
        ) -> Sequence[Summary]:
            raise StoreUnavailable("the log [/x] is damaged", "see lacli doctor")

    async with opened(SessionsScreen("", None, store=Broken)) as it:
        await it.until("the log [/x] is damaged; see lacli doctor", "the log cannot be used")
        await it.press("enter")
        assert it.result is NOTHING


async def test_keys_are_taken_while_the_log_is_slow_and_the_newest_search_wins(opened: Open) -> None:
    gate, asked = threading.Event(), list[str]()

    class Slow(Told):
        def search(
            self,
            text: str,
            project: Path | None = None,
            everywhere: bool = False,
            limit: int | None = None,
            kinds: Collection[str] = (),
        ) -> Sequence[Hit]:
            asked.append(text)
            gate.wait(5)
            return [Hit(self.list()[0], 1, 1, "answer", f"found {text}")]

    async with opened(SessionsScreen("", None, store=Slow)) as it:
        await it.type("abcd")
        assert "abcd" in it.it.text()
        gate.set()
        await it.until("found abcd")
        assert asked[0] == "a"
        assert asked[-1] == "abcd"
        assert len(asked) <= 3
