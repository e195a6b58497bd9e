"""Connections that are slow, too large, broken or gone; and that nothing a client can send is an error of ours."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lacli.errors import WorkerDied
from lacli.events import Piece, ReplyStats
from lacli.server.http import run, wire
from tests.server.http.engines import REPLY, TOKEN, Doors, ScriptedEngine, serving
from tests.server.http.test_guard import BODY, GETS, POSTS

QUESTION = {"messages": [{"role": "user", "content": "q"}]}


NO_OBJECTS = (
    *(b"", b"{", b"null", b"[]", b'"x"', b"7", b"\xff", b'{"a": NaN}', b'{"a": 1e999}', b"{'a': 1}"),
    b'{"a": ' + b"9" * 5000 + b"}",
    b'{"a": ' + b"[" * 90 + b"]" * 90 + b"}",
    b"[" * 200_000,
)


def eventually(holds: Callable[[], Any], seconds: float = 5.0) -> None:
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)


def head(doors: Doors, path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {length}\r\n\r\n"
    ).encode()


@pytest.fixture
def connection(doors: Doors) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", doors.port), timeout=10) as connection:
        yield connection


def answer_of(connection: socket.socket) -> bytes:
    """All that comes until the server closes."""
    said = b""
    while part := connection.recv(65536):
        said += part
    return said


def answer_of_stream(connection: socket.socket) -> bytes:
    """All of an answer in chunks."""
    said = b""
    while not said.endswith(b"0\r\n\r\n"):
        said += connection.recv(65536)
    return said


class TestBodies:
    def test_one_that_says_it_is_too_large(
        self, doors: Doors, connection: socket.socket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire, "DISCARD_S", 0.05)
        connection.sendall(head(doors, "/infill", 50_000_000) + b"{")
        said = answer_of(connection)
        assert said.startswith(b"HTTP/1.1 413 ")
        assert b"8,000,000" in said

    def test_one_that_is_sent_to_its_end_nonetheless(self, doors: Doors, connection: socket.socket) -> None:
        connection.sendall(head(doors, "/infill", 50_000_000))
        for _ in range(50):
            connection.sendall(b"x" * 1_000_000)
        said = answer_of(connection)
        assert said.startswith(b"HTTP/1.1 413 ")
        assert b"8,000,000" in said

    def test_one_that_turns_out_too_large(
        self, doors: Doors, connection: socket.socket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire, "MOST_BYTES", 1000)
        monkeypatch.setattr(wire, "DISCARD_S", 0.05)
        start = head(doors, "/infill", 0).replace(b"content-length: 0", b"transfer-encoding: chunked")
        connection.sendall(start + b"3e9\r\n" + b" " * 1001 + b"\r\n")
        assert answer_of(connection).startswith(b"HTTP/1.1 413 ")

    def test_one_that_does_not_come(
        self, doors: Doors, connection: socket.socket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire, "BODY_S", 0.05)
        connection.sendall(head(doors, "/v1/completions", 100) + b"{")
        assert answer_of(connection).startswith(b"HTTP/1.1 408 ")

    def test_a_head_that_does_not_come(self, doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(run, "HEAD_S", 0.05)
        for sent in (b"", b"GET /health HTT"):
            with socket.create_connection(("127.0.0.1", doors.port), timeout=10) as connection:
                connection.sendall(sent)
                assert answer_of(connection) == b""

    @pytest.mark.parametrize("path", POSTS)
    def test_those_that_are_no_objects(self, doors: Doors, path: str) -> None:
        for body in NO_OBJECTS:
            status, _, answer = doors.send("POST", path, body)
            assert status == 400, body[:40]
            assert json.loads(answer)["error"]
        assert not doors.engine.asked

    @pytest.mark.parametrize("values", [b"[1" + b",1" * 300_000 + b"]", b"[" + b"{}," * 200_000 + b"{}]"])
    def test_one_of_too_many_values_is_not_even_parsed(self, doors: Doors, values: bytes) -> None:
        status, _, answer = doors.send("POST", "/v1/completions", b'{"prompt": ' + values + b"}")
        assert (status, b"too many values" in answer) == (400, True)
        assert doors.send("POST", "/completion", {"prompt": [1] * 130_000})[0] == 200

    def test_a_request_that_is_none(self, doors: Doors, connection: socket.socket) -> None:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert answer_of(connection).startswith(b"HTTP/1.1 400 ")


class TestLeaving:
    @pytest.mark.parametrize("stream", [True, False])
    def test_a_client_that_leaves_ends_its_reply(self, doors: Doors, connection: socket.socket, stream: bool) -> None:
        doors.engine.scripts[:] = ["word " * 1000]
        doors.engine.step_s = 0.01
        body = json.dumps({**QUESTION, "stream": stream}).encode()
        connection.sendall(head(doors, "/v1/chat/completions", len(body)) + body)
        if stream:
            assert connection.recv(10)
        eventually(lambda: doors.engine.asked)
        connection.close()
        eventually(lambda: doors.engine.ended == ["cancelled"], 1.0)

    def test_also_one_that_does_not_read(self, doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wire, "SEND_S", 0.05)
        piece = Piece("x" * 200_000, ("",), ReplyStats())
        doors.engine.scripts[:] = [[piece] * 200]
        body = json.dumps({**QUESTION, "stream": True}).encode()
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", doors.port))
            connection.sendall(head(doors, "/v1/chat/completions", len(body)) + body)
            eventually(lambda: doors.engine.ended == ["cancelled"], 20.0)

    def test_the_next_request_on_a_connection_is_served(self, doors: Doors, connection: socket.socket) -> None:
        body = json.dumps({"prompt": "x"}).encode()
        for _ in range(3):
            connection.sendall(head(doors, "/completion", len(body)) + body)
            said = b""
            while REPLY.split("\n")[0].encode() not in said:
                said += connection.recv(65536)
            assert said.startswith(b"HTTP/1.1 200 ")


@pytest.mark.slow
def test_a_crowd_leaves_nothing_behind(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 connections: 20 are written to, of which half leave, one sends 50 MB, ten send a byte now and then."""
    monkeypatch.setattr(wire, "BODY_S", 1.0)
    monkeypatch.setattr(run, "HEAD_S", 1.0)
    doors.engine.scripts[:] = ["word " * 60]
    doors.engine.step_s = 0.02
    body = json.dumps({**QUESTION, "stream": True}).encode()
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(socket.create_connection(("127.0.0.1", doors.port), 20)) for _ in range(200)]
        for connection in crowd[:20]:
            connection.sendall(head(doors, "/v1/chat/completions", len(body)) + body)
        eventually(lambda: len(doors.engine.asked) == 20)
        for connection in crowd[:10]:
            connection.close()
        with contextlib.suppress(OSError):  # it is refused by its head, and closed
            crowd[20].sendall(head(doors, "/infill", 50_000_000) + b" " * 50_000_000)
        for _ in range(10):
            for connection in crowd[30:40]:
                with contextlib.suppress(OSError):
                    connection.send(b"x")
            assert doors.send("GET", "/health", token=None)[0] == 200
        said = [answer_of_stream(connection) for connection in crowd[10:20]]
        assert all(answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n") for answer in said)
        eventually(lambda: sorted(doors.engine.ended) == ["cancelled"] * 10 + ["whole"] * 10)
        assert all(answer_of(connection) == b"" for connection in crowd[30:])
    doors.engine.step_s = 0.0
    assert doors.post("/v1/chat/completions", **QUESTION)["choices"][0]["finish_reason"] == "stop"


@pytest.mark.slow
def test_a_server_that_ends_does_not_wait_for_long_replies() -> None:
    engine = ScriptedEngine(["word " * 5000], step_s=0.01)
    with contextlib.ExitStack() as stack:
        with serving(engine) as doors:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", doors.port), 20))
            body = json.dumps({**QUESTION, "stream": True}).encode()
            connection.sendall(head(doors, "/v1/chat/completions", len(body)) + body)
            assert connection.recv(10)
        assert engine.ended == ["cancelled"]
        assert not answer_of(connection).endswith(b"0\r\n\r\n")


class TestPings:
    def test_a_stream_shows_life_while_nothing_comes(self, doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wire, "PING_S", 0.01)
        doors.engine.step_s = 0.03
        for path, body in (("/v1/chat/completions", QUESTION), ("/completion", {"prompt": "x"})):
            _, _, answer = doors.send("POST", path, {**body, "stream": True})
            assert answer.startswith(b": ping\n\n")
            assert answer.count(b": ping\n\n") >= 3
            assert b'"finish_reason":"stop"' in answer or b'"stop":true' in answer

    def test_ollamas_lines_have_none(self, doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wire, "PING_S", 0.01)
        doors.engine.step_s = 0.03
        _, _, answer = doors.send("POST", "/api/chat", {**QUESTION, "model": "small"})
        assert all(json.loads(line) for line in answer.decode().splitlines())

    def test_a_failure_after_a_ping_is_told_in_the_stream(self, doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wire, "PING_S", 0.01)

        async def dies(*_: Any) -> Any:
            import asyncio

            await asyncio.sleep(0.1)
            raise WorkerDied("the engine's process was killed (SIGKILL)")
            yield

        monkeypatch.setattr(doors.engine, "reply", dies)
        status, _, answer = doors.send("POST", "/v1/chat/completions", {**QUESTION, "stream": True})
        assert status == 200
        assert b"was killed (SIGKILL)" in answer
        assert answer.endswith(b"data: [DONE]\n\n")


VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2**31,
        2**63,
        -(2**63),
        10**30,
        0.5,
        -0.5,
        1e300,
        "",
        "x",
        "\ud800",
        "\0",
        "a" * 500,
    ),
    *([], [1], ["x"], [[]], [{}], [None], {}, {"type": "text"}, {"text": "x"}, {"role": "user", "content": "q"}),
)
NAMES = (
    *("model", "messages", "prompt", "suffix", "stream", "stream_options", "max_tokens", "n_predict", "temperature"),
    *("top_p", "top_k", "seed", "stop", "n", "prediction", "response_format", "tools", "input_prefix", "input_suffix"),
    *("input_extra", "response_fields", "n_cmpl", "id_slot", "t_max_predict_ms", "t_max_prompt_ms", "samplers"),
    *("options", "keep_alive", "raw", "system", "format", "name", "content", "tokens", "add_special", "return_tokens"),
    *("logit_bias", "modalities", "tool_choice", "repeat_penalty", "repetition_penalty", "best_of", "echo", "lora"),
)


class TestFuzz:
    @pytest.mark.default_cases(4)
    @pytest.mark.parametrize("path", POSTS)
    def test_nothing_a_client_sends_is_a_failure_of_ours(self, doors: Doors, path: str) -> None:
        """300 bodies of fields drawn with values of every kind, half of them changes of one that is served."""
        chance = random.Random(path)
        statuses = set()
        for number in range(300):
            drawn = {chance.choice(NAMES): chance.choice(VALUES) for _ in range(chance.randrange(1, 6))}
            status, _, answer = doors.send("POST", path, {**BODY, **drawn} if number % 2 else drawn)
            assert status in (200, 400, 404), (drawn, answer)
            assert b"server_error" not in answer, (drawn, answer)
            statuses.add(status)
        assert {200, 400} <= statuses

    @pytest.mark.parametrize("path", GETS)
    def test_a_body_where_none_belongs(self, doors: Doors, path: str) -> None:
        assert doors.send("GET", path, b"{")[0] == 200
