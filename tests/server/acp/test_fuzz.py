"""Hundreds of odd messages to the agent: each request has one answer, and nothing outside the folder is read."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any, cast

import acp
import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.server.acp.agent import LacliAgent
from lacli.server.acp.start import Start
from lacli.server.acp.transport import LineTransport
from lacli.server.stdio.engine import Engines
from tests.server.mutated import OUTSIDE, Mutator

SECRET = "nobody may read this"


class Streams:
    """Stdin and stdout of an agent in this process."""

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader(limit=1 << 22)
        self.messages: list[Any] = []

    def write(self, data: bytes) -> None:
        self.messages.append(json.loads(data))

    def say(self, message: Any) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.reader.feed_data(data.replace(b"\n", b" ") + b"\n")

    def answers(self, number: Any) -> list[Any]:
        return [each for each in self.messages if each.get("id", "") == number and "method" not in each]

    async def answer(self, number: Any) -> Any:
        """The answer to a request, once it has come."""
        async with asyncio.timeout(20):
            while not self.answers(number):
                await asyncio.sleep(0.005)
        return self.answers(number)[0]


@contextlib.asynccontextmanager
async def agent() -> Any:
    """An agent that reads lines; all it is asked is answered with one word."""
    streams = Streams()
    engine = ScriptedAssistant(["word"] * 5000)
    engines = Engines(lambda settings: engine)
    here = LacliAgent(Start(keep=False), engines)
    serving = asyncio.create_task(acp.run_agent(cast(acp.Agent, here), LineTransport(cast(Any, streams))))
    try:
        yield streams
    finally:
        streams.reader.feed_eof()
        here.leave()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
        engines.close()


def request(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


START = request(0, "initialize", protocolVersion=1, clientCapabilities={"fs": {"readTextFile": False}})


def valid(number: int, session: str, folder: Path) -> list[dict[str, Any]]:
    """A message of every kind."""
    link = {"type": "resource_link", "uri": (folder / "a.py").as_uri(), "name": "a.py"}
    held = {"type": "resource", "resource": {"uri": "file:///b.py", "text": "b = 1\n", "mimeType": "text/plain"}}
    words = {"type": "text", "text": "what is it?"}
    return [
        request(number, "session/prompt", sessionId=session, prompt=[words, link, held]),
        request(number, "session/prompt", sessionId=session, prompt=[words]),
        request(number, "session/new", cwd=str(folder), mcpServers=[]),
        request(number, "session/load", cwd=str(folder), sessionId=session, mcpServers=[]),
        request(number, "session/list", cwd=str(folder)),
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}},
    ]


@pytest.mark.parametrize("count", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_every_request_is_answered_once(count: int, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "private"
    outside.mkdir()
    (outside / OUTSIDE).write_text(SECRET)
    mutator = Mutator(20, str(outside))

    async def go() -> None:
        async with agent() as streams:
            streams.say(START)
            await streams.answer(0)
            streams.say(request("new", "session/new", cwd=str(folder), mcpServers=[]))
            session = (await streams.answer("new"))["result"]["sessionId"]
            for number in range(1, count + 1):
                message = mutator.value(mutator.pick(valid(number, session, folder)))
                streams.say(message)
                known = isinstance(message, dict) and message.get("id") == number
                if known and isinstance(message.get("method"), str):
                    answer = await streams.answer(number)
                    assert "result" in answer or answer["error"]["message"], message
            streams.say(request("last", "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hi"}]))
            assert (await streams.answer("last"))["result"]["stopReason"] == "end_turn"
            for number in range(count + 1):
                assert len(streams.answers(number)) <= 1
            told = json.dumps(streams.messages)
            assert SECRET not in told
            assert "Traceback" not in told

    asyncio.run(go())
    assert [each.name for each in outside.iterdir()] == [OUTSIDE]


def test_lines_of_any_kind_do_no_harm(folder: Path) -> None:
    mutator = Mutator(21)

    async def go() -> None:
        async with agent() as streams:
            streams.say(START)
            for number in range(100):
                message = mutator.pick(valid(number, "none", folder))
                streams.say(mutator.data(json.dumps(message).encode()))
            streams.say(request("last", "session/list"))
            assert "result" in await streams.answer("last")

    asyncio.run(go())
