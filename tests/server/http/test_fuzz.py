"""Hundreds of odd requests for each door: refused by name or served, never an error of ours, and no file is touched."""

from __future__ import annotations

import json
import logging
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lacli.worker.protocol import Call, encode, parse_call
from tests.server.http.engines import TOKEN, Doors
from tests.server.mutated import OUTSIDE, Mutator

_MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "q"}]}]
_SAMPLING = {"temperature": 0.1, "top_p": 0.9, "top_k": 40, "seed": 7, "stop": ["\n", "<|x|>"]}
_OPENAI = {**_SAMPLING, "model": "small", "stream": False, "stream_options": {"include_usage": True}, "max_tokens": 8}
_FLAT = ["content", "timings/prompt_n", "truncated"]
_INFILL = {
    **{"input_prefix": "a = 1\n", "prompt": "b", "input_suffix": "\nc", "id_slot": 3, "n_predict": 8, "n_indent": 0},
    **{"input_extra": [{"filename": f"../{OUTSIDE}", "text": "x = 1\n"}], "samplers": ["top_k"], "cache_prompt": True},
    **{"t_max_prompt_ms": 1, "t_max_predict_ms": 1000, "response_fields": _FLAT, "n_cmpl": 1, "repeat_penalty": 1.1},
}
_OPTIONS = {**_SAMPLING, "num_predict": 8, "num_ctx": 64, "repeat_penalty": 1.1}
_OLLAMA = {"model": "small:latest", "stream": False, "options": _OPTIONS, "keep_alive": "5m", "think": False}
BODIES: dict[str, Any] = {
    "/v1/chat/completions": {
        **_OPENAI,
        "messages": _MESSAGES,
        "prediction": {"type": "content", "content": "def f"},
        "response_format": {"type": "text"},
        "max_completion_tokens": 8,
    },
    "/v1/completions": {**_OPENAI, "prompt": "def f(", "suffix": "\n", "echo": False, "best_of": 1},
    "/infill": {**_INFILL, **_SAMPLING},
    "/completion": {**_SAMPLING, "prompt": "def", "n_predict": 8, "return_tokens": True, "response_fields": _FLAT},
    "/tokenize": {"content": "def f(", "add_special": True, "with_pieces": False},
    "/detokenize": {"tokens": [1, 2, 3]},
    "/apply-template": {"messages": _MESSAGES},
    "/api/generate": {**_OLLAMA, "prompt": "def f(", "suffix": "\n", "system": "s", "raw": False},
    "/api/chat": {**_OLLAMA, "messages": _MESSAGES},
    "/api/show": {"model": "small"},
}
ALLOWED = {200, 400, 401, 403, 404, 413}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the user's that is no project of any request, with a file."""
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / OUTSIDE).write_text("a secret\n")
    return folder


@pytest.fixture
def opened(outside: Path) -> Iterator[list[str]]:
    """The paths under that folder that anything in this process opens or lists meanwhile."""
    found: list[str] = []
    watching = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir"):
            path = arguments[0]
            name = path.decode("utf-8", "replace") if isinstance(path, bytes) else str(path)
            if OUTSIDE in name or str(outside) in name:
                found.append(name)

    sys.addaudithook(hook)
    yield found
    watching = False


def check(doors: Doors, path: str, seed: int, count: int, outside: Path) -> None:
    """Send so many mutations of a door's body."""
    mutator = Mutator(seed, str(outside))
    for number in range(count):
        body = mutator.body(BODIES[path])
        status, headers, answer = doors.send("POST", path, body)
        assert status in ALLOWED, (number, body[:500], status, answer[:500])
        assert b"Traceback" not in answer
        if status != 200:
            assert json.loads(answer)["error"], (number, body[:500])
        elif headers["content-type"] == "application/json":
            json.loads(answer)
        elif "ndjson" in headers["content-type"]:
            assert [json.loads(line) for line in answer.splitlines()]
    assert doors.send("GET", "/health")[0] == 200


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("count", [10, pytest.param(300, marks=pytest.mark.slow)])
def test_bodies(
    doors: Doors, path: str, count: int, outside: Path, opened: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        check(doors, path, 16, count, outside)
    assert not caplog.records
    assert not opened
    assert [each.name for each in outside.iterdir()] == [OUTSIDE]
    assert len(doors.engine.ended) == len(doors.engine.asked)
    for request, settings, _ in doors.engine.asked:  # a worker understands whatever was let through
        call = Call(1, "reply", request, settings)
        assert parse_call(encode(call)) == call


_HEAD = (
    "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    "X-Lacli-Project: {outside}/../{name}\r\nOrigin: http://localhost\r\nContent-Length: 31\r\n\r\n"
    '{{"prompt": "a", "max_tokens": 1}}'
)


@pytest.mark.parametrize("count", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_heads(doors: Doors, count: int, outside: Path, opened: list[str]) -> None:
    mutator = Mutator(17, str(outside))
    valid = _HEAD.format(token=TOKEN, outside=outside, name=OUTSIDE).encode()
    for _ in range(count):
        data = mutator.data(valid)
        with socket.create_connection(("127.0.0.1", doors.port), timeout=20) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        status = answer[9:12]
        assert status in (b"", b"200", b"400", b"401", b"403", b"404", b"405", b"413", b"505", b"426"), (data, answer)
        assert b"Traceback" not in answer
    assert not [each for each in opened if OUTSIDE in each]
    assert doors.send("GET", "/health")[0] == 200


def test_a_project_that_is_none_is_not_looked_into(doors: Doors, outside: Path, opened: list[str]) -> None:
    for named in (str(outside / OUTSIDE), f"..{outside}", "private", f"{outside}/nowhere", "", "~", "file:///"):
        status, _, answer = doors.send("POST", "/completion", {"prompt": "a"}, headers={"X-Lacli-Project": named})
        assert status == 400, named
        assert json.loads(answer)["error"]
    assert not opened
