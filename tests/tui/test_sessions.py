"""What is kept of a chat, and going on with one; code that goes into files; the first start."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from lacli.assistant.scripted import ScriptedAssistant
from lacli.sessions.store import SessionStore, path
from lacli_tui.screens.diff import DiffScreen
from lacli_tui.screens.line import LineScreen
from tests.tui.conftest import Play

CODE = "Here:\n\n```python\nx = 2\n```\n"


async def test_a_chat_is_kept_and_gone_on_with(pilot: Play) -> None:
    async with pilot("one", "two", model="scripted") as it:
        await it.ask("first")
        await it.ask("second")
        await it.until(lambda: it.main.session_id)
        it.main.engine.close()
        kept = it.main.session_id
    session = SessionStore(path()).session(kept)
    assert [turn.answer.text for turn in session.turns] == ["one", "two"]
    async with pilot("three", session=session, model="scripted") as it:
        assert "second" in it.text()
        await it.ask("third")
        messages = it.assistant.requests[0].messages
        assert [each.text for each in messages] == ["first", "one", "second", "two", "third"]
        assert messages[1].token_ids
        it.main.engine.close()
    assert len(SessionStore(path()).session(kept).turns) == 3


async def test_leaving_in_the_middle_of_a_reply_keeps_what_was_written(pilot: Play) -> None:
    waits = threading.Event()

    class Slow(ScriptedAssistant):
        def reply(self, request: Any, cancel: Any = lambda: False) -> Any:
            for number, event in enumerate(super().reply(request, cancel)):
                if number == 3:
                    waits.set()
                    while not cancel():
                        waits.wait(0.01)
                yield event

    async with pilot(replier=Slow(["one two three four five six seven eight nine ten"])) as it:
        await it.type("go")
        await it.press("enter")
        await it.until(waits.is_set)
        it.main.engine.close()
        kept = it.main.session_id
    (turn,) = SessionStore(path()).session(kept).turns
    assert turn.interrupted
    assert turn.answer.text.startswith("one two")


async def test_nothing_is_kept_where_that_is_not_wanted(pilot: Play) -> None:
    async with pilot("one", keep=False) as it:
        await it.ask("first")
        it.main.engine.close()
    assert not path().exists()


async def test_a_code_block_is_saved_and_applied_after_a_diff(pilot: Play, tmp_path: Path) -> None:
    async with pilot(CODE) as it:
        await it.ask("x is to be two")
        await it.press("shift+tab", "s")
        await it.until(lambda: isinstance(it.app.screen, LineScreen))
        await it.press(*"new.py", "enter")
        await it.until(lambda: (tmp_path / "new.py").exists())
        assert (tmp_path / "new.py").read_text() == "x = 2\n"
        (tmp_path / "old.py").write_bytes(b"x = 1\r\n")
        it.app.perform("apply", "old.py")
        await it.until(lambda: isinstance(it.app.screen, DiffScreen))
        await it.until(lambda: "-x = 1" in it.text())
        await it.press("escape")
        await it.until(lambda: it.app.screen is it.main)
        assert (tmp_path / "old.py").read_bytes() == b"x = 1\r\n"
        it.app.perform("apply", "old.py")
        await it.until(lambda: isinstance(it.app.screen, DiffScreen))
        await it.press("y")
        await it.until(lambda: it.app.screen is it.main)
        await it.until(lambda: (tmp_path / "old.py").read_bytes() == b"x = 2\r\n")


async def test_the_text_of_a_message_and_its_blocks_are_copied_as_they_are(pilot: Play, monkeypatch: Any) -> None:
    monkeypatch.setattr("lacli.shared.clipboard.by_tool", lambda text: "")
    async with pilot("a\n\n```\n\tx  \n```\n") as it:
        await it.ask("hi")
        await it.press("shift+tab", "1")
        await it.until(lambda: it.app.clipboard == "\tx  ")
        await it.press("y")
        await it.until(lambda: it.app.clipboard == "a\n\n```\n\tx  \n```\n")


async def test_the_sidebar_has_chats_to_go_on_with_and_the_files_shown(pilot: Play, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "b.py").write_text("y = 2\n")
    async with pilot("one", "two", model="scripted", size=(120, 40)) as it:
        await it.ask("about [/x] in @b.py")
        await it.until(lambda: it.main.session_id)
        await it.press("f3")
        await it.until(lambda: "about [/x]" in it.text()[: it.text().index("You")])
        assert "files shown" in it.text()
        await it.press("ctrl+n")
        await it.until(lambda: not it.main.chat.conversation.turns)
        await it.press("f3", "f3")
        await it.until(lambda: "about [/x]" in it.text())
        await it.press("down", "enter")
        await it.until(lambda: len(it.main.chat.conversation.turns) == 1)
        await it.press("f3")
        assert "files shown" not in it.text()
