"""Hundreds of odd messages to the language server: each request has one answer."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.server.lsp.completer import Completer
from lacli.server.lsp.reading import read_messages
from lacli.server.lsp.server import LacliServer
from lacli.server.lsp.start import Start
from lacli.server.stdio.engine import Engines
from tests.server.mutated import Mutator

_LIMIT = 1 << 22


class Wire:
    """An editor's end of a server in this process."""

    def __init__(self) -> None:
        self.sent = bytearray()

    def write(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None: ...

    @property
    def messages(self) -> list[Any]:
        """What the server has said."""
        found, rest = [], bytes(self.sent)
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = int(head.split(b"\r\n")[0].removeprefix(b"Content-Length: "))
            found.append(json.loads(rest[:length]))
            rest = rest[length:]
        return found

    def answers(self, number: Any) -> list[Any]:
        return [each for each in self.messages if each.get("id", "") == number and "method" not in each]


def framed(message: Any) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def said_to(*data: bytes, engine: Any = None) -> Wire:
    """A server that was told all of this, and has ended."""
    wire = Wire()

    async def go() -> None:
        engines = Engines(lambda settings: engine or ScriptedAssistant(["x"] * 1000))
        server = LacliServer(Completer(Start(neighbours=False), engines))
        server.protocol.set_writer(wire)  # type: ignore[arg-type]
        reader = asyncio.StreamReader(limit=_LIMIT)
        for each in data:
            reader.feed_data(each)
        reader.feed_eof()
        await read_messages(reader, server)
        for _ in range(500):
            if not [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]:
                break
            await asyncio.sleep(0.01)
        engines.close()

    asyncio.run(go())
    return wire


def request(number: Any, method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


START = request(0, "initialize", {"capabilities": {}, "processId": None, "rootUri": None})
PLACE = {
    "textDocument": {"uri": "untitled:1"},
    "position": {"line": 0, "character": 1},
    "context": {"triggerKind": 1},
}
OPENED = {"uri": "untitled:1", "languageId": "python", "version": 1, "text": "x\n"}
OPEN = {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": OPENED}}
RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
CHANGE = {
    "jsonrpc": "2.0",
    "method": "textDocument/didChange",
    "params": {"textDocument": {"uri": "untitled:1", "version": 2}, "contentChanges": [{"range": RANGE, "text": "y"}]},
}
CHOSEN = {**PLACE, "context": {"triggerKind": 0, "selectedCompletionInfo": {"range": RANGE, "text": "xy"}}}


class TestWhatCannotBeUnderstood:
    @pytest.mark.parametrize(
        "params",
        [None, 3, [], {}, {"a": 1}, {**PLACE, "position": {"line": -1, "character": 0}}, {**PLACE, "context": 7}],
    )
    def test_parameters_are_refused_by_the_number_of_their_request(self, params: Any) -> None:
        wire = said_to(framed(START), framed(OPEN), framed(request(5, "textDocument/inlineCompletion", params)))
        (answer,) = wire.answers(5)
        assert answer["error"]["code"] in (-32602, -32600, -32603)
        assert answer["error"]["message"]

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            (b"{", -32700),
            (b"[" * 90_000, -32700),
            (b"\xff\xfe", -32700),
            (b"[1]", -32600),
            (b"7", -32600),
            (b'{"id": 1, "method": "initialize"}', -32600),
            (b'{"jsonrpc": "2.0", "id": 1}', -32600),
            (b'{"jsonrpc": "2.0", "id": [1], "method": "shutdown"}', -32600),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "nosuch"}', -32601),
        ],
    )
    def test_messages_are_refused_with_the_code_of_json_rpc(self, body: bytes, code: int) -> None:
        assert [each["error"]["code"] for each in said_to(framed(body)).messages] == [code]

    def test_heads_are_taken_as_they_come_or_end_it(self) -> None:
        body = json.dumps(request(5, "nosuch", None)).encode()
        typed = b"Content-Type: x; charset=utf-8\r\ncontent-length:%d \r\n\r\n%s" % (len(body), body)
        assert said_to(typed).answers(5)
        assert not said_to(b"Content-Length: 99999999999\r\n\r\n" + framed(request(5, "nosuch", None))).messages
        assert not said_to(b"x" * (_LIMIT + 2)).messages


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_every_request_is_answered_once(count: int, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outside = tmp_path / "private"
    mutator = Mutator(18, str(outside))
    sent, numbers = [START, OPEN], []
    for number in range(1, count + 1):
        method = "textDocument/inlineCompletion"
        valid = mutator.pick([request(number, method, PLACE), request(number, method, CHOSEN), OPEN, CHANGE])
        message = mutator.value(valid)
        asks = isinstance(message, dict) and message.get("id") == number
        if asks and isinstance(message.get("method"), str) and message["method"] not in ("shutdown", "exit"):
            numbers.append(number)
        sent.append(message)
    last = request("last", "textDocument/inlineCompletion", PLACE)
    with caplog.at_level(logging.CRITICAL):
        wire = said_to(*map(framed, sent), framed(OPEN), framed(last))
    for number in numbers:
        assert len(wire.answers(number)) == 1, sent[number + 1]
    assert wire.answers("last")[0]["result"]["items"]
    assert not outside.exists()
    assert b"Traceback" not in wire.sent


def test_bytes_of_any_kind_end_it_at_worst() -> None:
    mutator = Mutator(19)
    valid = framed(START) + framed(OPEN) + framed(request(1, "textDocument/inlineCompletion", PLACE))
    for _ in range(40):
        said_to(mutator.data(valid))
