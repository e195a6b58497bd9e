"""The agent side of the Agent Client Protocol: its methods, as the package `acp` calls them.

Translates; what a conversation does is `conversation`'s, and runs in a thread so that a cancel is always heard.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import acp
from acp import schema

import lacli
from lacli.assistant.cancel import CancelToken
from lacli.chat import commands
from lacli.chat.outcome import fault
from lacli.errors import LacliError, UsageError
from lacli.events import Reason
from lacli.project.root import project_root
from lacli.server.acp.base import End
from lacli.server.acp.conversation import AgentConversation
from lacli.server.acp.editor import Editor, numbers
from lacli.server.acp.start import Start
from lacli.server.stdio.engine import Engines
from lacli.server.stdio.streams import in_thread
from lacli.sessions.records import CONVERSATIONS, NoSuchSession, Session
from lacli.sessions.store import SessionStore, new_id
from lacli.sessions.store import path as log_path

_INVALID, _FAILED, _BUSY = -32602, -32603, -32600
_REASONS: dict[Reason, schema.StopReason] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "context": "max_tokens",
    "cancelled": "cancelled",
    "timeout": "cancelled",
}
_LISTED = 50


class LacliAgent:
    """See `acp.Agent`."""

    def __init__(self, start: Start, engines: Engines) -> None:
        self._start = start
        self._engines = engines
        self._client: acp.Client | None = None
        self._able = schema.ClientCapabilities()
        self._conversations: dict[str, AgentConversation] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def on_connect(self, conn: acp.Client) -> None:
        """The editor to be told of everything."""
        self._client = conn
        self._loop = asyncio.get_running_loop()

    async def initialize(
        self, protocol_version: int, client_capabilities: schema.ClientCapabilities | None = None, **_: Any
    ) -> acp.InitializeResponse:
        """What this agent can do."""
        self._able = client_capabilities or self._able
        return acp.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(embedded_context=True),
                session_capabilities=schema.SessionCapabilities(list=schema.SessionListCapabilities()),
            ),
            agent_info=schema.Implementation(name="lacli", title="lacli", version=lacli.__version__),
            auth_methods=[],
        )

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        """Begin a conversation in a folder; the model begins to load."""
        id = new_id()  # noqa: A001 - what it is called everywhere
        with _told():
            await in_thread(lambda: self._begin(id, cwd))
        self._announce(id)
        return acp.NewSessionResponse(session_id=id)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> acp.LoadSessionResponse:
        """Go on with a conversation of the log, and tell the editor what was said in it."""
        with _told():
            await in_thread(lambda: self._resume(session_id, cwd))
        self._announce(session_id)
        return acp.LoadSessionResponse()

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> acp.schema.ListSessionsResponse:
        """The conversations of a project, or of all, the one used last first."""
        with _told():
            return schema.ListSessionsResponse(sessions=await in_thread(lambda: _listed(cwd)))

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        """Answer a question or run a command."""
        here = self._conversation(session_id)
        if here.cancel is not None:
            raise acp.RequestError(_BUSY, "an answer is being written; cancel it first")
        here.cancel = cancel = CancelToken()
        here.idle.clear()

        def answer() -> End:
            try:
                return here.answer(prompt, cancel)
            finally:
                here.cancel = None
                here.idle.set()

        with _told():
            try:
                end = await in_thread(answer)
            except asyncio.CancelledError:  # the editor has gone
                cancel.cancel()
                raise
        meta = numbers(end.stats) if end.stats is not None else None
        return acp.PromptResponse(stop_reason=_REASONS[end.reason], field_meta=meta)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """End the answer after its current step."""
        here = self._conversations.get(session_id)
        if here is not None and here.cancel is not None:
            here.cancel.cancel()

    def leave(self) -> list[AgentConversation]:
        """The editor has gone: cancel every answer. Returns the conversations that had one."""
        for each in self._conversations.values():
            each.editor.closed = True
            cancel = each.cancel
            if cancel is not None:
                cancel.cancel()
        return [each for each in self._conversations.values() if not each.idle.is_set()]

    def _conversation(self, id: str) -> AgentConversation:  # noqa: A002
        here = self._conversations.get(id)
        if here is None:
            raise acp.RequestError(_INVALID, f"there is no session {id!r}; begin or load it first")
        return here

    def _begin(self, id: str, cwd: str, session: Session | None = None) -> AgentConversation:  # noqa: A002
        """Begin a conversation, or go on with one of the log. Raises LacliError."""
        folder = _folder(cwd)
        assert self._client is not None
        editor = Editor(self._client, id, self._able, self._loop)
        here = AgentConversation(self._start, folder, id, editor, self._engines, session)
        here.model_changed = self._end_unused
        self._conversations[id] = here
        here.prepare()
        return here

    def _end_unused(self) -> None:
        """End the engines of models that no conversation has any more."""
        self._engines.keep_only([each.chat.settings for each in list(self._conversations.values())])

    def _resume(self, id: str, cwd: str) -> None:  # noqa: A002
        if id in self._conversations and self._conversations[id].cancel is not None:
            raise UsageError("an answer is being written in this session", "cancel it first")
        session = SessionStore(log_path(), self._start.notify).session(id)
        if session.id != id:  # the log takes the beginning of an id, too
            raise NoSuchSession(f"there is no session {id!r}", "give the whole id")
        here = self._begin(id, cwd, session)
        for turn in here.chat.conversation.turns:
            here.editor.replay(turn.question.text, turn.answer.text)

    def _announce(self, id: str) -> None:  # noqa: A002
        """Tell the editor the commands of a session, once it has been told the session."""
        offered = [
            schema.AvailableCommand(
                name=each.name,
                description=each.help,
                input=schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=each.arguments))
                if each.arguments
                else None,
            )
            for each in commands.commands("acp")
        ]

        async def announce() -> None:
            assert self._client is not None
            with contextlib.suppress(ConnectionError):
                await self._client.session_update(id, acp.helpers.update_available_commands(offered))

        task = asyncio.get_running_loop().create_task(announce())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _folder(cwd: str) -> Path:
    """The folder of a conversation. Raises UsageError."""
    if "\0" in cwd or not os.path.isabs(cwd):
        raise UsageError(f"{cwd!r} is no absolute path", "give the folder of the project")
    if not os.path.isdir(cwd):
        raise UsageError(f"there is no folder {cwd}", "give the folder of the project")
    return Path(cwd)


def _listed(cwd: str | None) -> list[schema.SessionInfo]:
    project = project_root(_folder(cwd)) if cwd is not None else None
    found = SessionStore(log_path()).list(project, cwd is None, _LISTED, CONVERSATIONS)
    return [
        schema.SessionInfo(
            session_id=each.id,
            cwd=str(each.project),
            title=each.title,
            updated_at=datetime.datetime.fromtimestamp(each.used, datetime.UTC).isoformat(),
        )
        for each in found
        if each.project is not None
    ]


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Turn what a user can meet into an error of JSON-RPC that says it."""
    try:
        yield
    except (LacliError, OSError) as error:
        line = fault(error)
        code = _INVALID if isinstance(error, UsageError) else _FAILED
        text = f"{line.text}; {line.hint}" if line.hint else line.text
        raise acp.RequestError(code, text, {"kind": type(error).__name__}) from None
