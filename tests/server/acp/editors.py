"""An editor under test: `agent-client-protocol`'s own client, which notes what it is told and answers as it is set."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import acp
from acp import schema
from acp._transport import memory_transport_pair

from lacli.assistant.scripted import ScriptedAssistant
from lacli.server.acp.agent import LacliAgent
from lacli.server.acp.start import Start
from lacli.server.stdio.engine import Engines

BOTH = schema.FileSystemCapabilities(read_text_file=True, write_text_file=True)


class Editor:
    """The client's side."""

    def __init__(self, permission: str = "allow") -> None:
        self.permission = permission
        """The option that is chosen, or `cancelled`."""
        self.updates: list[Any] = []
        self.asked: list[schema.ToolCallUpdate] = []
        self.buffers: dict[str, str] = {}
        """What is open and not saved."""
        self.written: dict[str, str] = {}
        self.on_text: Any = lambda: None
        """Called with the first piece of an answer."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        if update.session_update == "agent_message_chunk":
            self.on_text()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append(tool_call)
        outcome: Any = schema.DeniedOutcome(outcome="cancelled")
        if self.permission != "cancelled":
            outcome = schema.AllowedOutcome(outcome="selected", option_id=self.permission)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> Any:
        content = self.buffers.get(path)
        if content is None:
            content = Path(path).read_text() if Path(path).exists() else None
        if content is None:
            raise acp.RequestError.resource_not_found(path)
        return schema.ReadTextFileResponse(content=content)

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> Any:
        self.written[path] = content
        return schema.WriteTextFileResponse()

    def on_connect(self, conn: Any) -> None: ...

    def text(self, kind: str = "agent_message_chunk") -> str:
        """All that was said so far, of this kind."""
        return "".join(each.content.text for each in self.updates if each.session_update == kind)

    def of(self, kind: str) -> list[Any]:
        return [each for each in self.updates if each.session_update == kind]


class Talk:
    """A conversation."""

    def __init__(self, editor: Editor, agent: Any, id: str) -> None:  # noqa: A002
        self.editor = editor
        self.agent = agent
        self.id = id

    async def say(self, *blocks: Any) -> acp.PromptResponse:
        """Send a prompt; the answer's text is then the last of the editor's updates."""
        self.editor.updates.clear()
        prompt = [acp.text_block(each) if isinstance(each, str) else each for each in blocks]
        return await self.agent.prompt(session_id=self.id, prompt=prompt)

    async def refused(self, *blocks: Any) -> str:
        """The message of the error that answers a prompt."""
        try:
            await self.say(*blocks)
        except acp.RequestError as error:
            return str(error)
        raise AssertionError("it was answered")


@contextlib.asynccontextmanager
async def connected(
    editor: Editor,
    engines: Engines,
    start: Start | None = None,
    able: Any = None,
) -> AsyncIterator[Any]:
    """An agent in this process, initialised."""
    ours, theirs = memory_transport_pair()
    agent = LacliAgent(start or Start(), engines)
    serving = asyncio.create_task(acp.run_agent(agent, theirs))  # type: ignore[arg-type]
    conn = acp.connect_to_agent(editor, ours)
    await conn.initialize(protocol_version=1, client_capabilities=schema.ClientCapabilities(fs=able))
    try:
        yield conn
    finally:
        await conn.close()
        agent.leave()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
        engines.close()


@contextlib.asynccontextmanager
async def talking(
    folder: Path,
    scripts: Sequence[Any],
    editor: Editor | None = None,
    start: Start | None = None,
    able: Any = None,
) -> AsyncIterator[Talk]:
    """A conversation with an agent in this process whose engine gives these answers."""
    editor = editor or Editor()
    engine = ScriptedAssistant(scripts)
    async with connected(editor, Engines(lambda settings: engine), start, able) as agent:
        session = await agent.new_session(cwd=str(folder), mcp_servers=[])
        talk = Talk(editor, agent, session.session_id)
        talk.engine = engine  # type: ignore[attr-defined]
        yield talk


@contextlib.asynccontextmanager
async def process(editor: Editor, command: Sequence[str]) -> AsyncIterator[tuple[Any, Any]]:
    """An agent in a process of its own, initialised, and the process."""
    limits = {"stderr": asyncio.subprocess.PIPE, "limit": 1 << 24}
    async with acp.spawn_agent_process(editor, *command, env=dict(os.environ), transport_kwargs=limits) as (
        agent,
        running,
    ):
        await agent.initialize(protocol_version=1, client_capabilities=schema.ClientCapabilities(fs=BOTH))
        yield agent, running
