"""Hundreds of odd lines over the engine's own socket: who sends them is answered or let go, and others are served."""

from __future__ import annotations

import json
import os
import socket

import pytest

from lacli.config import Settings
from lacli.events import Message, Request
from lacli.worker import attached, endpoint, protocol
from lacli.worker.protocol import Call, Greeting, Hello, encode
from tests.server.mutated import Mutator
from tests.server.running import ENOUGH_S, serving

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the engine listens on Unix sockets")

QUESTION = Request((Message("user", "hi"),), max_tokens=4)
HELLO = json.loads(encode(Hello(protocol.PROTOCOL, Settings())))
CALL = json.loads(encode(Call(1, "reply", QUESTION)))


@pytest.mark.parametrize("count", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_lines_of_any_kind_do_no_harm(count: int) -> None:
    mutator = Mutator(22)
    with serving("quick") as running:
        for _ in range(count):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(ENOUGH_S)
                connection.connect(str(endpoint.socket_path()))
                lines = [
                    mutator.body(HELLO) if mutator.pick([True, False]) else encode(Hello(protocol.PROTOCOL, Settings()))
                ]
                lines += [mutator.body(mutator.pick([CALL, {"type": "cancel", "id": 1}])) for _ in range(3)]
                connection.sendall(b"".join(each.strip() + b"\n" for each in lines))
                connection.shutdown(socket.SHUT_WR)
                said = b""
                while part := connection.recv(1 << 16):
                    said += part
            first, *_ = said.split(b"\n")
            assert isinstance(protocol.parse_event(first + b"\n"), Greeting)
            assert b"Traceback" not in said
        assistant = attached.attached(Settings())
        assert [each for each in assistant.reply(QUESTION)]
        assistant.close()
        assert not running.engine.health().running
        assert len(running.workers()) <= 2
