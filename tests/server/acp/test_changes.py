"""/edit and /apply of `lacli acp`: what is shown, what is asked, and what becomes of the file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema

from tests.server.acp.editors import BOTH, Editor, talking

NEW = "```python\na = 2\n```\n"


def edited(folder: Path, *prompt: Any, editor: Editor, able: Any = None, scripts: Any = (NEW,) * 3) -> Any:
    """The answer to a prompt, or the error's message."""

    async def go() -> Any:
        async with talking(folder, scripts, editor, able=able) as talk:
            try:
                answer = await talk.say(*prompt)
            except acp.RequestError as error:
                return str(error)
            talk.editor.engine = talk.engine  # type: ignore[attr-defined]
            return answer.stop_reason

    return asyncio.run(go())


class TestEdit:
    def test_shows_a_diff_asks_and_changes_the_file(self, folder: Path) -> None:
        editor = Editor()
        assert edited(folder, "/edit a.py set a to 2", editor=editor) == "end_turn"
        begun, shown, done = editor.of("tool_call") + editor.of("tool_call_update")
        assert (begun.kind, begun.title, begun.locations[0].path) == ("edit", "Edit a.py", str(folder / "a.py"))
        assert (shown.status, done.status) == ("pending", "completed")
        (diff,) = editor.asked[0].content
        assert (diff.path, diff.old_text, diff.new_text) == (str(folder / "a.py"), "a = 1\n", "a = 2\n")
        assert (folder / "a.py").read_text() == "a = 2\n"
        assert editor.text() == "a.py was changed"
        assert editor.of("usage_update")

    def test_is_written_by_the_editor_where_that_can(self, folder: Path) -> None:
        editor = Editor()
        (folder / "a.py").write_bytes(b"a = 1\r\n")
        edited(folder, "/edit a.py set a to 2", editor=editor, able=BOTH)
        assert editor.written == {str(folder / "a.py"): "a = 2\r\n"}
        assert (folder / "a.py").read_bytes() == b"a = 1\r\n"

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("\ufeffa = 1\n".encode(), "\ufeffa = 2\n".encode()),
            ("a = 1\n".encode("utf-16"), "a = 2\n".encode("utf-16")),
        ],
    )
    def test_is_written_to_disk_where_an_editor_might_change_its_bytes(
        self, before: bytes, after: bytes, folder: Path
    ) -> None:
        editor = Editor()
        (folder / "a.py").write_bytes(before)
        edited(folder, "/edit a.py set a to 2", editor=editor, able=schema.FileSystemCapabilities(write_text_file=True))
        assert (folder / "a.py").read_bytes() == after
        assert not editor.written

    @pytest.mark.parametrize(("permission", "reason"), [("reject", "end_turn"), ("cancelled", "cancelled")])
    def test_leaves_the_file_where_it_may_not(self, permission: str, reason: str, folder: Path) -> None:
        editor = Editor(permission)
        assert edited(folder, "/edit a.py set a to 2", editor=editor, able=BOTH) == reason
        assert editor.of("tool_call_update")[-1].status == "failed"
        assert not editor.written
        assert (folder / "a.py").read_text() == "a = 1\n"

    def test_a_cancel_does_not_wait_for_the_permission(self, folder: Path) -> None:
        class Silent(Editor):
            asking = asyncio.Event()

            async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any:
                self.asking.set()
                await asyncio.Event().wait()

        async def go() -> None:
            editor = Silent()
            async with talking(folder, [NEW, "later"], editor) as talk:
                answer = asyncio.create_task(talk.say("/edit a.py set a to 2"))
                await editor.asking.wait()
                await talk.agent.cancel(session_id=talk.id)
                assert (await answer).stop_reason == "cancelled"
                assert editor.of("tool_call_update")[-1].status == "failed"
                await talk.say("hello")
                assert editor.text() == "later"

        asyncio.run(go())
        assert (folder / "a.py").read_text() == "a = 1\n"

    def test_leaves_a_file_that_is_not_saved(self, folder: Path) -> None:
        editor = Editor()
        editor.buffers[str(folder / "a.py")] = "a = 'new'\n"
        assert "not saved" in edited(folder, "/edit a.py set a to 2", editor=editor, able=BOTH)
        assert not editor.asked

    @pytest.mark.parametrize("able", [None, schema.FileSystemCapabilities(write_text_file=True)])
    def test_leaves_a_file_that_was_changed_while_it_was_asked(self, able: Any, folder: Path) -> None:
        class Changes(Editor):
            async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any:
                (folder / "a.py").write_text("a = 'mine'\n")
                return await super().request_permission(session_id, tool_call, options, **more)

        editor = Changes()
        assert "was changed meanwhile" in edited(folder, "/edit a.py set a to 2", editor=editor, able=able)
        assert (folder / "a.py").read_text() == "a = 'mine'\n"
        assert editor.of("tool_call_update")[-1].status == "failed"

    def test_refuses_what_a_check_finds_wrong(self, folder: Path) -> None:
        editor = Editor()
        wrong = "```python\na = (2\n```\n"
        why = edited(folder, "/edit a.py set a to 2", editor=editor, scripts=[wrong] * 3)
        assert "a.py is as it was" in why
        assert not editor.asked
        assert editor.of("tool_call_update")[-1].status == "failed"

    def test_takes_a_linked_file_whose_name_has_blanks(self, folder: Path) -> None:
        file = folder / "b c.py"
        file.write_text("a = 1\n")
        editor = Editor()
        edited(folder, "/edit ", acp.resource_link_block("b c.py", file.as_uri()), " set a to 2", editor=editor)
        assert file.read_text() == "a = 2\n"

    def test_changes_the_lines_that_were_named(self, folder: Path) -> None:
        (folder / "a.py").write_text("b = 1\na = 1\n")
        editor = Editor()
        edited(folder, "/edit a.py:2 set it to 2", editor=editor)
        assert (folder / "a.py").read_text() == "b = 1\na = 2\n"

    @pytest.mark.parametrize(
        ("typed", "why"),
        [
            ("/edit", "needs a file and an instruction"),
            ("/edit a.py", "needs a file and an instruction"),
            ("/edit nosuch.py do it", "there is no file"),
            ("/edit ../a.py do it", "lies outside"),
            ("/edit /etc/hosts do it", "lies outside"),
            ("/edit a.py:7 do it", "no line 7"),
        ],
    )
    def test_tells_mistakes(self, typed: str, why: str, folder: Path) -> None:
        assert why in edited(folder, typed, editor=Editor())

    def test_is_told_what_the_project_says(self, folder: Path) -> None:
        (folder / "AGENTS.md").write_text("Use tabs.")
        editor = Editor()
        edited(folder, "/edit a.py set a to 2", editor=editor)
        system = editor.engine.requests[0].messages[0]  # type: ignore[attr-defined]
        assert system.role == "system"
        assert "Use tabs." in system.text


class TestApply:
    def applied(self, folder: Path, typed: str, editor: Editor, answer: str = NEW) -> Any:
        async def go() -> Any:
            async with talking(folder, [answer], editor) as talk:
                await talk.say("give me a", acp.resource_link_block("a.py", (folder / "a.py").as_uri()))
                try:
                    return (await talk.say(typed)).stop_reason
                except acp.RequestError as error:
                    return str(error)

        return asyncio.run(go())

    def test_changes_the_file_that_is_meant(self, folder: Path) -> None:
        editor = Editor()
        assert self.applied(folder, "/apply", editor) == "end_turn"
        assert (folder / "a.py").read_text() == "a = 2\n"
        assert editor.asked[0].content[0].new_text == "a = 2\n"

    def test_makes_a_new_file(self, folder: Path) -> None:
        editor = Editor()
        assert self.applied(folder, "/apply 1 sub/new.py", editor) == "end_turn"
        assert (folder / "sub" / "new.py").read_text() == "a = 2\n"
        assert editor.asked[0].content[0].old_text is None

    def test_writes_nothing_outside(self, folder: Path) -> None:
        editor = Editor()
        assert "lies outside" in self.applied(folder, "/apply ../new.py", editor)
        assert not editor.asked
        assert not (folder.parent / "new.py").exists()

    def test_writes_nothing_where_it_may_not(self, folder: Path) -> None:
        assert self.applied(folder, "/apply", Editor("reject")) == "end_turn"
        assert (folder / "a.py").read_text() == "a = 1\n"

    def test_needs_an_answer_with_code(self, folder: Path) -> None:
        assert "no code block" in self.applied(folder, "/apply new.py", Editor(), answer="no")
