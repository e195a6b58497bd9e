"""What `lacli serve` is told of HTTP: options that go together, and the door they open."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
from pathlib import Path

import pytest

from lacli.cli.serve.http import HttpOptions
from lacli.config import Settings
from lacli.errors import UsageError
from lacli.server.engine import WorkerEngine

OWN = "a-token-of-my-own"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (HttpOptions(ollama=True), "--ollama is for HTTP"),
        (HttpOptions(host="0.0.0.0"), "--host is for HTTP"),
        (HttpOptions(8012, host="0.0.0.0"), "lets other computers ask"),
        (HttpOptions(8012, token="short"), "16 letters or more"),
        (HttpOptions(8012, token="with a blank in between"), "no blank"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: HttpOptions, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        options.check()


@pytest.mark.parametrize(
    "options", [HttpOptions(), HttpOptions(0), HttpOptions(8012, "::1"), HttpOptions(8012, "0.0.0.0", OWN)]
)
def test_options_that_do_are_taken(options: HttpOptions) -> None:
    options.check()


def test_another_start_is_told_everything_but_the_token() -> None:
    assert HttpOptions(8012, "0.0.0.0", OWN, ollama=True).arguments == [
        "--port", "8012", "--host", "0.0.0.0", "--ollama",
    ]  # fmt: skip
    assert HttpOptions(ollama=False, token=OWN).arguments == []


async def asked(options: HttpOptions) -> int:
    """The status of one request to the door of these options."""
    ports: list[int] = []
    (door,) = options.doors(Settings(), ports.append)

    def get() -> int:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", ports[0], timeout=5)) as connection:
            connection.request("GET", "/v1/models", headers={"Authorization": f"Bearer {OWN}"})
            answer = connection.getresponse()
            answer.read()
            return answer.status

    engine = WorkerEngine()
    try:
        async with door(engine):
            assert engine.status().http == f"http://127.0.0.1:{ports[0]}"
            return await asyncio.to_thread(get)
    finally:
        await engine.close()


def test_a_door_is_open_while_its_block_runs(sandbox: Path) -> None:
    assert asyncio.run(asked(HttpOptions(0, token=OWN))) == 200
    assert asyncio.run(asked(HttpOptions(0, token=OWN[::-1]))) == 401


def test_a_port_that_is_taken_is_said_before_the_block_begins(sandbox: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(UsageError, match="cannot be listened at"):
            asyncio.run(asked(HttpOptions(other.getsockname()[1], token=OWN)))


def test_without_a_port_there_is_no_door() -> None:
    assert HttpOptions().doors(Settings(), lambda port: None) == []
