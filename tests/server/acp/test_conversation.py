"""`lacli acp` in this process, seen by the protocol's own client: prompts, files, commands, the log."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema

from lacli.config import Settings
from lacli.errors import PromptTooLong, UsageError, WorkerDied
from lacli.events import Loading, Notice, Request
from lacli.server.acp.start import Start
from lacli.server.stdio.engine import Engines
from lacli.sessions.store import SessionStore, path
from tests.server.acp.editors import BOTH, Editor, Talk, connected, talking


def link(file: Path, **more: Any) -> Any:
    return acp.resource_link_block(file.name, file.as_uri(), **more)


def asked(talk: Any) -> Request:
    return talk.engine.requests[-1]


class TestAPrompt:
    def test_is_answered_piece_by_piece_with_its_numbers(self, folder: Path) -> None:
        async def go() -> None:
            async with talking(folder, ["one two three four"]) as talk:
                answer = await talk.say("hello")
                assert answer.stop_reason == "end_turn"
                assert talk.editor.text() == "one two three four"
                assert len(talk.editor.of("agent_message_chunk")) == 3
                (usage,) = talk.editor.of("usage_update")
                assert (usage.used, usage.size) == (11, 2048)
                meta = answer.field_meta or {}
                assert meta["lacli/tokens_per_step"] == 1.5
                assert (meta["lacli/tokens"], meta["lacli/steps"]) == (4, 2)
                assert asked(talk).messages[-1].text == "hello"

        asyncio.run(go())

    def test_thoughts_and_notices_are_no_part_of_the_answer(self, folder: Path) -> None:
        from lacli.assistant.scripted import ScriptedAssistant

        events = ScriptedAssistant(()).reply_events("yes", "let me think")
        script = [Loading("load"), Notice("it is small"), *events]

        async def go() -> None:
            async with talking(folder, [script]) as talk:
                await talk.say("hello")
                assert talk.editor.text() == "yes"
                assert "it is small" in talk.editor.text("agent_thought_chunk")
                assert "let me think" in talk.editor.text("agent_thought_chunk")

        asyncio.run(go())

    def test_the_next_one_goes_on_with_the_conversation(self, folder: Path) -> None:
        async def go() -> None:
            async with talking(folder, ["one", "two"]) as talk:
                await talk.say("first")
                await talk.say("second")
                assert [each.text for each in asked(talk).messages] == ["first", "one", "second"]
                assert asked(talk).messages[1].token_ids

        asyncio.run(go())

    def test_files_go_with_it_as_the_editor_has_them(self, folder: Path) -> None:
        editor = Editor()
        editor.buffers[str(folder / "a.py")] = "a = 'not saved'\r\n"
        told = acp.resource_block(acp.embedded_text_resource("file:///elsewhere/b.py", "b = 2\n"))

        async def go() -> None:
            async with talking(folder, ["one"], editor, able=BOTH) as talk:
                await talk.say("compare ", link(folder / "a.py"), " and ", told)
                message = asked(talk).messages[-1]
                assert message.text == "compare a.py and file:///elsewhere/b.py"
                labels = [(each.label, each.text) for each in message.attachments]
                assert labels == [("a.py", "a = 'not saved'\n"), ("file:///elsewhere/b.py", "b = 2\n")]

        asyncio.run(go())

    @pytest.mark.parametrize(
        "uri",
        ["file:///etc/passwd", "file://FOLDER/../outside.py", "file://FOLDER/link.py", "http://x/y", "file://h/y"],
    )
    def test_no_file_outside_its_folder_is_read(self, uri: str, folder: Path) -> None:
        (folder.parent / "outside.py").write_text("secret")
        (folder / "link.py").symlink_to(folder.parent / "outside.py")
        block = acp.resource_link_block("x", uri.replace("FOLDER", str(folder)))

        async def go() -> None:
            async with talking(folder, []) as talk:
                why = await talk.refused("look at ", block)
                assert "lies outside" in why or "is no file of this computer" in why

        asyncio.run(go())

    def test_what_is_no_text_is_refused(self, folder: Path) -> None:
        image = acp.image_block(base64.b64encode(b"x").decode(), "image/png")
        blob = acp.resource_block(acp.embedded_blob_resource("file:///x.bin", base64.b64encode(b"x").decode()))
        (folder / "x.bin").write_bytes(b"\0")

        async def go() -> None:
            async with talking(folder, []) as talk:
                assert "reads no image" in await talk.refused("see ", image)
                assert "is no text" in await talk.refused("see ", blob)
                assert "binary" in await talk.refused("see ", link(folder / "x.bin"))
                assert "no file" in await talk.refused("see ", link(folder / "nosuch.py"))
                assert "nothing to ask" in await talk.refused("  ")

        asyncio.run(go())

    def test_letters_that_are_none_do_no_harm(self, folder: Path) -> None:
        async def go() -> None:
            async with talking(folder, ["one"]) as talk:
                await talk.say("odd \ud800 letter")
                asked(talk).messages[-1].text.encode()

        asyncio.run(go())

    def test_a_failure_is_one_line_and_the_conversation_goes_on(self, folder: Path) -> None:
        failures = [PromptTooLong("it is too long", "shorten it"), WorkerDied("it died", "go on"), "better"]

        async def go() -> None:
            async with talking(folder, failures) as talk:
                assert await talk.refused("one") == "it is too long; shorten it"
                assert await talk.refused("two") == "it died; go on"
                await talk.say("three")
                assert [each.text for each in asked(talk).messages] == ["three"]

        asyncio.run(go())

    def test_there_is_one_at_a_time_and_a_cancel_ends_it(self, folder: Path) -> None:
        from tests.worker.worker_child import Slow

        editor = Editor()

        async def go() -> None:
            async with connected(editor, Engines(lambda settings: Slow())) as agent:
                session = await agent.new_session(cwd=str(folder), mcp_servers=[])
                talk = Talk(editor, agent, session.session_id)
                begun = asyncio.Event()
                editor.on_text = begun.set
                first = asyncio.create_task(talk.say("first"))
                await begun.wait()
                assert "is being written" in await talk.refused("second")
                await agent.cancel(session_id=talk.id)
                answer = await first
                assert answer.stop_reason == "cancelled"
                assert (answer.field_meta or {})["lacli/tokens"] >= 1

        asyncio.run(go())

    def test_a_cancel_reaches_one_that_waits_for_another_conversation(self, folder: Path) -> None:
        from tests.worker.worker_child import Slow

        editor = Editor()

        async def go() -> None:
            async with connected(editor, Engines(lambda settings: Slow())) as agent:
                one = Talk(editor, agent, (await agent.new_session(cwd=str(folder), mcp_servers=[])).session_id)
                other = Talk(editor, agent, (await agent.new_session(cwd=str(folder), mcp_servers=[])).session_id)
                begun = asyncio.Event()
                editor.on_text = begun.set
                first = asyncio.create_task(one.say("first"))
                await begun.wait()
                second = asyncio.create_task(other.say("second"))
                await asyncio.sleep(0.05)
                await agent.cancel(session_id=other.id)
                assert (await second).stop_reason == "cancelled"
                assert not first.done()
                await agent.cancel(session_id=one.id)
                assert (await first).stop_reason == "cancelled"

        asyncio.run(go())

    def test_tokens_that_ran_out_are_told(self, folder: Path) -> None:
        from dataclasses import replace

        from lacli.assistant.scripted import ScriptedAssistant
        from lacli.events import Finished

        *events, last = ScriptedAssistant(()).reply_events("one two")
        assert isinstance(last, Finished)

        async def go() -> None:
            async with talking(folder, [[*events, replace(last, reason="length")]]) as talk:
                assert (await talk.say("hello")).stop_reason == "max_tokens"

        asyncio.run(go())


class TestASession:
    @pytest.mark.parametrize(("cwd", "why"), [("/nosuch/folder", "there is no folder"), ("here", "no absolute path")])
    def test_needs_a_folder(self, cwd: str, why: str) -> None:
        async def go() -> None:
            async with connected(Editor(), Engines(lambda settings: pytest.fail("an engine was made"))) as agent:
                with pytest.raises(acp.RequestError, match=why):
                    await agent.new_session(cwd=cwd, mcp_servers=[])
                with pytest.raises(acp.RequestError, match="no session"):
                    await agent.prompt(session_id="nosuch", prompt=[acp.text_block("x")])

        asyncio.run(go())

    def test_tells_its_commands(self, folder: Path) -> None:
        async def go() -> None:
            async with talking(folder, []) as talk:
                while not talk.editor.updates:
                    await asyncio.sleep(0)
                (told,) = talk.editor.of("available_commands_update")
                names = {each.name: each for each in told.available_commands}
                assert {"help", "edit", "apply", "model", "compact"} <= set(names)
                assert not {"exit", "copy", "theme"} & set(names)
                assert names["edit"].input.root.hint.startswith("FILE")

        asyncio.run(go())

    def test_is_kept_under_the_id_the_editor_knows_and_goes_on_from_there(self, folder: Path) -> None:
        async def go() -> None:
            async with talking(folder, ["one"]) as talk:
                await talk.say("first question")
            kept = SessionStore(path()).session(talk.id)
            assert (kept.kind, kept.project, len(kept.turns)) == ("chat", folder, 1)
            async with talking(folder, ["two"]) as later:
                listed = await later.agent.list_sessions(cwd=str(folder))
                assert [(each.session_id, each.title) for each in listed.sessions] == [(talk.id, "first question")]
                later.editor.updates.clear()
                await later.agent.load_session(cwd=str(folder), session_id=talk.id, mcp_servers=[])
                assert later.editor.text("user_message_chunk") == "first question"
                assert later.editor.text() == "one"
                with pytest.raises(acp.RequestError, match="there is no session"):
                    await later.agent.load_session(cwd=str(folder), session_id=talk.id[:5], mcp_servers=[])
                again = Talk(later.editor, later.agent, talk.id)
                await again.say("second")
                assert [each.text for each in asked(later).messages] == ["first question", "one", "second"]
            assert len(SessionStore(path()).session(talk.id).turns) == 2

        asyncio.run(go())

    def test_that_nobody_kept_cannot_be_loaded(self, folder: Path) -> None:
        async def go() -> None:
            async with talking(folder, ["one"], start=Start(keep=False)) as talk:
                await talk.say("secret")
                with pytest.raises(acp.RequestError, match="no absolute path"):
                    await talk.agent.list_sessions(cwd="here")
                with pytest.raises(acp.RequestError, match="no session's id"):
                    await talk.agent.load_session(cwd=str(folder), session_id=talk.id, mcp_servers=[])

        asyncio.run(go())

    def test_each_has_the_project_of_its_folder(self, folder: Path, tmp_path: Path) -> None:
        async def go() -> None:
            async with talking(folder, ["one", "two"]) as talk:
                other = tmp_path / "other"
                other.mkdir()
                session = await talk.agent.new_session(cwd=str(other), mcp_servers=[])
                await talk.say("here")
                await Talk(talk.editor, talk.agent, session.session_id).say("there")
                folders = [each.folder for each in talk.engine.entered]  # type: ignore[attr-defined]
                assert folders[0] == folder
                assert folders[-1] == other

        asyncio.run(go())

    def test_the_project_s_own_instructions_are_system_text(self, folder: Path) -> None:
        (folder / "AGENTS.md").write_text("Use tabs.\n")

        async def go() -> None:
            async with talking(folder, ["one", "two"], start=Start(system="Be brief.")) as talk:
                await talk.say("hello")
                assert "using AGENTS.md (9 characters)" in talk.editor.text("agent_thought_chunk")
                system = asked(talk).messages[0]
                assert system.role == "system"
                assert system.text.startswith("Be brief.\n\n")
                assert "Use tabs." in system.text
                await talk.say("again")
                assert "AGENTS.md" not in talk.editor.text("agent_thought_chunk")
            async with talking(folder, ["one"], start=Start(instructions=False)) as talk:
                await talk.say("hello")
                assert [each.role for each in asked(talk).messages] == ["user"]

        asyncio.run(go())


class TestCommands:
    def test_answer_with_text_and_send_nothing(self, folder: Path) -> None:
        async def go() -> None:
            async with talking(folder, ["one two"]) as talk:
                await talk.say("/help")
                assert "/edit FILE" in talk.editor.text()
                await talk.say("hello")
                await talk.say("/stats")
                assert "tok/step" in talk.editor.text()
                await talk.say("/tokens")
                assert "tokens so far" in talk.editor.text()
                await talk.say("/undo")
                assert "taken back" in talk.editor.text()
                assert len(talk.engine.requests) == 1  # type: ignore[attr-defined]

        asyncio.run(go())

    def test_that_ask_again_do(self, folder: Path) -> None:
        async def go() -> None:
            async with talking(folder, ["one", "two"]) as talk:
                await talk.say("hello")
                await talk.say("/retry")
                assert talk.editor.text() == "two"

        asyncio.run(go())

    def test_a_summary_is_not_shown_as_an_answer(self, folder: Path) -> None:
        async def go() -> None:
            async with talking(folder, ["one", "two", "the summary"]) as talk:
                await talk.say("a")
                await talk.say("b")
                await talk.say("/compact")
                assert talk.editor.text() == "1 older turn is replaced by the summary; /undo brings back what was there"

        asyncio.run(go())

    def test_files_named_by_hand_are_of_the_folder(self, folder: Path) -> None:
        async def go() -> None:
            async with talking(folder, ["one"]) as talk:
                assert "lies outside" in await talk.refused("/file ../x")
                await talk.say("/file a.py")
                await talk.say("what is it?")
                assert [each.label for each in asked(talk).messages[-1].attachments] == ["a.py"]

        asyncio.run(go())

    def test_mistakes_are_told(self, folder: Path) -> None:
        def check(flag: str, value: str) -> Any:
            raise UsageError(f"{flag} {value} is wrong")

        async def go() -> None:
            async with talking(folder, [], start=Start(checked=check)) as talk:
                assert "did you mean /edit" in await talk.refused("/edti a.py x")
                assert "temperature hot is wrong" in await talk.refused("/set temperature hot")
                assert "no model named" in await talk.refused("/model nosuch")

        asyncio.run(go())

    def test_another_model_is_loaded_and_the_one_before_serves_where_that_fails(self, folder: Path) -> None:
        from lacli.assistant.base import Report, ignore
        from lacli.assistant.scripted import ScriptedAssistant
        from lacli.errors import ModelUnavailable

        made: list[Any] = []

        class Fails(ScriptedAssistant):
            def open(self, report: Report = ignore) -> None:
                raise ModelUnavailable("it is not there", "fetch it")

        def make(settings: Settings) -> Any:
            kind = Fails if settings.model == "codellama-7b" else ScriptedAssistant
            made.append(kind([f"by {settings.model}"] * 3))
            return made[-1]

        async def go() -> None:
            editor = Editor()
            async with connected(editor, Engines(make)) as agent:
                talk = Talk(editor, agent, (await agent.new_session(cwd=str(folder), mcp_servers=[])).session_id)
                await talk.say("/model qwen2.5-coder-1.5b")
                assert "going on with" in editor.text()
                await talk.say("hello")
                assert editor.text() == "by qwen2.5-coder-1.5b"
                assert made[0].closed
                await talk.say("/model codellama-7b")
                assert "it is not there" in editor.text()
                await talk.say("hello")
                assert editor.text() == "by qwen2.5-coder-1.5b"

        asyncio.run(go())


def test_it_says_what_it_can_do(folder: Path) -> None:
    async def go() -> None:
        async with connected(Editor(), Engines(lambda settings: pytest.fail("an engine was made"))) as agent:
            told = await agent.initialize(protocol_version=1, client_capabilities=schema.ClientCapabilities())
            assert told.protocol_version == 1
            assert told.agent_capabilities.load_session
            assert told.agent_capabilities.prompt_capabilities.embedded_context
            assert not told.agent_capabilities.prompt_capabilities.image
            assert told.agent_info.name == "lacli"

    asyncio.run(go())
