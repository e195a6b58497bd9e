"""Files of a chat: what is attached, saved and applied is asked about, done behind, and given up by escape."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from lacli.assistant.base import Cancel, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.events import Event, Finished, Request
from lacli_tui.screens.confirm import ConfirmScreen
from lacli_tui.screens.diff import DiffScreen
from lacli_tui.screens.line import LineScreen
from tests.tui.conftest import Play, Playing
from tests.tui.test_drafts import send
from tests.tui.test_queued_questions import send as send_at_once

ANSWER = "Here is `inventory.py`:\n\n```python\ndef count():\n    return 1\n```\n\nIt prints\n\n```\n1\n```\n"


async def on(it: Playing, kind: type) -> None:
    await it.until(lambda: isinstance(it.app.screen, kind))
    await it.pilot.pause()


async def test_the_file_an_answer_names_is_offered_and_dialog_and_diff_name_the_block(pilot: Play) -> None:
    async with pilot(ANSWER) as it:
        await it.ask("hi")
        await it.press("shift+tab", "a")
        await on(it, LineScreen)
        assert "Apply code block 1 of 2 to" in it.text()
        field = it.app.screen.query_one(Input)
        assert field.value == "inventory.py"
        field.value = "new/inventory.py"
        await it.press("enter")
        await on(it, DiffScreen)
        for words in ("inventory.py (a new file)", "+def count():", "there is no folder new yet; it is made, too"):
            assert words in it.text(), words
        await it.press("y")
        await it.until(lambda: Path("new/inventory.py").exists())
        Path("new/inventory.py").write_text("".join(f"x{n} = {n}\n" for n in range(30)))
        Path("link.py").symlink_to("new/inventory.py")
        it.main.prompt.focus()
        await send(it, "/apply 1 link.py")
        await on(it, DiffScreen)
        for words in (
            "code block 1 of 2 → link.py",
            "link.py, a link to",
            "only count is put into the file",
            "› leave it",
        ):
            assert words in it.text(), words
        await it.press("enter")
        await it.until(lambda: "nothing was changed" in it.text())


async def test_only_the_hunks_that_were_taken_are_written(pilot: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textual.drivers.headless_driver.HeadlessDriver.can_suspend", True)
    old = "".join(f"x{number} = {number}\n" for number in range(40))
    new = old.replace("x2 = 2", "two = 2").replace("x20 = 20", "twenty = 20").replace("x38 = 38", "last = 38")
    Path("a.txt").write_bytes(old.replace("\n", "\r\n").encode())
    editor: dict[str, Any] = {"edited": lambda text: text.replace("+last", "+final")}
    async with pilot(f"```python\n{new}```\n", **editor) as it:
        await it.ask("hi")
        await send(it, "/apply a.txt")
        await on(it, DiffScreen)
        await it.press("a", "y")
        await it.until(lambda: "nothing was changed" in it.text())
        await send(it, "/apply a.txt")
        await on(it, DiffScreen)
        await it.press("j", "space", "j", "e", "y")
        await it.until(lambda: "a.txt was changed" in it.text())
    made = old.replace("x2 = 2", "two = 2").replace("x38 = 38", "final = 38")
    assert Path("a.txt").read_bytes() == made.replace("\n", "\r\n").encode()


async def test_no_file_is_made_elsewhere_before_that_is_agreed_to(pilot: Play) -> None:
    Path(".git").mkdir()
    async with pilot(ANSWER) as it:
        await it.ask("hi")
        for line, words in (("/apply 1 ../out.py", "outside the project"), ("/apply 1 .git/x", "inside .git")):
            await send(it, line)
            await on(it, DiffScreen)
            assert words in it.text()
            await it.press("enter")
            await it.until(lambda: "nothing was written" in it.text())
        await send(it, "/save 1 ../out.py")
        await on(it, ConfirmScreen)
        assert "put code block 1 of 2 into ../out.py, outside the project?" in it.text()
        await it.press("enter")
        await it.idle()
        assert not Path("../out.py").exists()
        assert not Path(".git/x").exists()
        await send(it, "/save x9/")
        await it.until(lambda: "x9/ is a folder" in it.text())
        await send(it, "/apply new.py")
        await on(it, DiffScreen)
        await it.press("y")
        await it.until(lambda: Path("new.py").exists())


async def test_numbers_mean_the_blocks_of_the_reply_that_is_written(
    pilot: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lacli.shared import clipboard

    given: list[str] = []
    monkeypatch.setattr(clipboard, "by_tool", lambda text: given.append(text) or "x")
    second = "```python\nnew = 1\n```\n\nand\n\n```python\nopen = 2\n"

    class Slow(ScriptedAssistant):
        def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
            for event in super().reply(request, cancel):
                while self.requests[1:] and isinstance(event, Finished) and not cancel():
                    time.sleep(0.005)
                yield event

    async with pilot(replier=Slow([ANSWER, second])) as it:
        await it.ask("hi")
        await send_at_once(it, "again")
        await it.until(lambda: it.main.chat.unfinished and "open = 2" in it.main.chat.unfinished.answer.text)
        await send_at_once(it, "/copy 1")
        await it.until(lambda: given == ["new = 1"])
        await it.until(lambda: "code block 1 so far: 7 characters copied to x" in it.text())
        await send_at_once(it, "/copy 2")
        await it.until(lambda: "there is no code block 2: the answer has 1 code block" in it.text())
        await send_at_once(it, "/save 1 out.py")
        await it.until(lambda: Path("out.py").exists())
        assert Path("out.py").read_text() == "new = 1\n"
        await it.until(lambda: "code block 1 so far is in out.py" in it.text())
        await it.press("escape")
        await it.idle()


async def test_a_number_that_there_is_not_is_told_once_and_forgotten(pilot: Play) -> None:
    async with pilot(ANSWER) as it:
        await it.ask("hi")
        await it.press("shift+tab", "5", "s")
        await on(it, LineScreen)
        assert "Save code block 1 of 2 to" in it.text()
        await it.press("escape", "2", "s")
        await on(it, LineScreen)
        assert "Save code block 2 of 2 to" in it.text()


async def test_save_without_a_path_asks_for_one(pilot: Play) -> None:
    async with pilot(ANSWER) as it:
        await it.ask("hi")
        await send(it, "/save")
        await on(it, LineScreen)
        assert "Save the chat to" in it.text()
        assert not list(Path().glob("*.md"))
        await it.press("enter")
        await it.until(lambda: bool(list(Path().glob("chat-*.md"))))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
async def test_pipes_and_devices_are_refused_with_one_line(pilot: Play) -> None:
    os.mkfifo("pipe.py")
    async with pilot(ANSWER) as it:
        await it.ask("hi")
        for line in ("/save pipe.py", "/apply pipe.py", "/file pipe.py", "/save /dev/stdout", "what is in @pipe.py?"):
            await it.main.replies.show_all()
            await send(it, line)
            await it.until(lambda: "is not a regular file" in it.text())
        assert it.main.prompt.text == "what is in @pipe.py?"
        assert len(it.main.chat.conversation.turns) == 1


async def test_a_file_that_is_surely_too_long_is_refused_at_once_and_a_doubtful_one_warned_of(pilot: Play) -> None:
    Path("long.txt").write_bytes(b"a" * 10_000_000)
    Path("some.txt").write_text("word " * 2_000)
    async with pilot(ANSWER) as it:
        it.main.chat.settings = type(it.main.chat.settings)(context=1000)
        await send(it, "/file long.txt")
        await it.until(lambda: "long.txt has about 2,500,000 tokens, and the context 1,000" in it.text())
        assert not it.main.chat.conversation.pending
        await send(it, "/file some.txt")
        await it.until(lambda: "it may not fit" in it.text())
        await it.until(lambda: "+ some.txt (1 line, ~2.5k tok)" in it.text())


async def test_keys_are_taken_while_a_disk_is_slow_and_what_was_sent_waits_in_turn(
    pilot: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lacli.prompts import attach

    Path("a.py").write_text("x\n")
    held, real = threading.Event(), attach.attachment

    def slow(path: str, *rest: object) -> object:
        held.wait(20)
        return real(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(attach, "attachment", slow)
    async with pilot("one", "two") as it:
        it.main.prompt.put("/file a.py")
        await it.press("enter")
        it.main.prompt.put("first?")
        await it.press("enter")
        await it.type("typed")
        await it.until(lambda: "reading a.py; escape gives it up" in it.text())
        assert "typed" in it.text()
        assert not it.assistant.requests
        held.set()
        await it.until(lambda: bool(it.main.chat.conversation.turns))
        (turn,) = it.main.chat.conversation.turns
        assert [each.label for each in turn.question.attachments] == ["a.py"]

        held.clear()
        it.main.prompt.put("what is in @a.py?")
        await it.press("enter")
        await it.until(lambda: "escape gives it up" in it.text())
        await it.press("escape")
        await it.until(lambda: it.main.prompt.text == "what is in @a.py?")
        assert not it.main.files.is_reading
        held.set()


async def test_a_disk_that_never_answers_holds_up_neither_keys_nor_the_end(
    pilot: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lacli.chat import writing

    monkeypatch.setattr(writing, "put", lambda target, data: time.sleep(20))
    async with pilot(ANSWER) as it:
        await it.ask("hi")
        await send(it, "/save a.md")
        await it.until(lambda: "writing a.md; escape gives it up" in it.text())
        await it.press("escape")
        await it.until(lambda: "writing a.md: given up" in it.text())


async def test_what_is_copied_is_for_its_owner_alone(pilot: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    from lacli import paths
    from lacli.shared import clipboard

    monkeypatch.setattr(clipboard, "by_tool", lambda text: "")
    file = paths.state_dir() / "copied.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("before")
    file.chmod(0o644)
    async with pilot(ANSWER) as it:
        await it.ask("hi")
        await send(it, "/copy 1")
        await it.until(lambda: file.read_text() != "before")
    assert file.read_text() == "def count():\n    return 1"
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_home_that_does_not_answer_holds_up_no_key(pilot: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    from lacli_tui.controllers import resource_monitor
    from lacli_tui.engine_session import EngineSession

    held = threading.Event()

    def history(engine: EngineSession) -> list[str]:
        held.wait(20)
        return ["before"]

    def keep(name: str) -> str:
        held.wait(20)
        return "kept"

    monkeypatch.setattr(EngineSession, "history", history)
    monkeypatch.setattr(resource_monitor, "pool_facts", lambda folder: held.wait(20) and None)
    monkeypatch.setattr(os.path, "exists", lambda path: held.wait(20))
    async with pilot("one", keep_theme=keep) as it:
        await it.ask("typed")
        await send(it, "/theme light")
        assert "light" in it.app.theme
        await send(it, "/nowhere")
        assert "there is no command /nowhere" in it.text()
        it.main.prompt.put("")
        held.set()
        await it.until(lambda: "kept" in it.text())
        found = []
        for _ in range(5):
            await it.press("up")
            found.append(it.main.prompt.text)
        assert found.index("typed") < found.index("before")
