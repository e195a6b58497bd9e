"""Many clients at once: what `/health` takes meanwhile, and what is left of them in the engine.

    python -m lacli.bench.doors crowd [-m MODEL] [--clients N]

Two hundred connect, twenty of them ask for a reply, half of which leave in its middle, one sends a body of 50 MB, ten
send theirs a byte at a time. The crowd is a process of its own, of low priority; `/health` is asked every 50 ms from
here, so that neither waits for the other's Python.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import psutil

from lacli.bench.doors.engine import TOKEN, Served, served
from lacli.bench.workplace import environment
from lacli.errors import LacliError

CLIENTS, _ASKING, _TRICKLING, _BIG = 200, 20, 10, 50_000_000
_EVERY_S = 0.05
_PIECES_READ = 3
"""By who leaves in the middle."""
_CALM_S = 2.0


class Crowd:
    """The clients, in their own process."""

    def __init__(self, port: int, clients: int, project: str) -> None:
        self._port = port
        self._project = project
        self._clients = clients
        self.ended: dict[str, int] = {}

    async def run(self) -> dict[str, int]:
        """All of them; how many ended in which way."""
        idle = max(0, self._clients - _ASKING - _TRICKLING - 1)
        waiting = [asyncio.create_task(self._wait()) for _ in range(idle)]
        trickling = [asyncio.create_task(self._trickle()) for _ in range(_TRICKLING)]
        asking = [self._ask(number, leaves=number % 2 == 1) for number in range(_ASKING)]
        results = await asyncio.gather(self._send_much(), *asking, return_exceptions=True)
        for task in (*waiting, *trickling):
            task.cancel()
        results += await asyncio.gather(*waiting, *trickling, return_exceptions=True)
        for each in results:
            name = each if isinstance(each, str) else type(each).__name__
            self.ended[name] = self.ended.get(name, 0) + 1
        return self.ended

    @contextlib.asynccontextmanager
    async def _connected(self) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def _wait(self) -> str:
        async with self._connected() as (reader, _):
            await reader.read(1)
        return "idle"

    async def _trickle(self) -> str:
        async with self._connected() as (_, writer):
            writer.write(self._head(1000))
            while True:
                await asyncio.sleep(0.1)
                writer.write(b" ")
                await writer.drain()

    async def _send_much(self) -> str:
        async with self._connected() as (reader, writer):
            writer.write(self._head(_BIG))
            with contextlib.suppress(OSError):
                for _ in range(_BIG // 1_000_000):
                    writer.write(b"x" * 1_000_000)
                    await writer.drain()
            line: bytes = b""
            with contextlib.suppress(OSError):
                line = await reader.readline()
        return "much refused" if b" 413 " in line else f"much: {line!r}"

    async def _ask(self, number: int, leaves: bool) -> str:
        said = f"Tell me story {number}."
        body = {"messages": [{"role": "user", "content": said}], "max_tokens": 24, "stream": True}
        data = json.dumps(body).encode()
        async with self._connected() as (reader, writer):
            writer.write(self._head(len(data)) + data)
            pieces = 0
            async for line in reader:
                if line.startswith(b"data: [DONE]"):
                    return "written"
                pieces += line.startswith(b"data: ")
                if leaves and pieces > _PIECES_READ:
                    return "left"
        return "broken"

    def _head(self, length: int) -> bytes:
        lines = ("POST /v1/chat/completions HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {TOKEN}")
        project = f"X-Lacli-Project: {self._project}"
        return "\r\n".join((*lines, project, f"Content-Length: {length}", "", "")).encode()


def measure(server: Served, clients: int) -> dict[str, Any]:
    """What the crowd did to the engine."""
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
    server.post("/v1/chat/completions", body)  # the model is loaded
    process = psutil.Process(server.pid)
    before = _state(process)
    calm = [_health(server)[1] for _ in range(20)]
    seen = []
    command = [sys.executable, "-c", _PROGRAM, str(server.port), str(clients), str(server.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as crowd:
        while crowd.poll() is None:
            time.sleep(_EVERY_S)
            seen.append(_health(server)[1])
        assert crowd.stdout is not None
        ended = json.loads(crowd.stdout.read())
    time.sleep(_CALM_S)
    told, _ = _health(server)
    return {
        "clients": clients,
        "ended": ended,
        "health_ms": _ms(seen),
        "health_calm_ms": _ms(calm),
        "before": before,
        "after": _state(process),
        "running": told["running"],
        "waiting": told["waiting"],
        "pools": _pools(server),
    }


def _pools(server: Served) -> Any:
    """What `lacli pool info` finds of the project."""
    command = [sys.executable, "-m", "lacli", "pool", "info", "--json"]
    return json.loads(subprocess.check_output(command, cwd=server.folder, env=environment(server.home)))["pools"]


_PROGRAM = "import sys; from lacli.bench.doors.crowd import child; child(*sys.argv[1:])"


def child(port: str, clients: str, project: str) -> None:
    """The process of the crowd: what became of its clients as JSON on stdout."""
    with contextlib.suppress(OSError):
        os.nice(10)
    print(json.dumps(asyncio.run(Crowd(int(port), int(clients), project).run())))


def _health(server: Served) -> tuple[Any, float]:
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request("GET", "/health")
        told = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    return told, time.perf_counter() - began


def _ms(seconds: Sequence[float]) -> dict[str, float]:
    ms = sorted(1000 * each for each in seconds)
    last = {"p99": ms[int(0.99 * (len(ms) - 1))], "max": ms[-1]}
    return {"asked": len(ms), "median": median(ms), **last}


def _state(process: psutil.Process) -> dict[str, Any]:
    memory = process.memory_info().rss / 1e6
    return {
        "mb": round(memory, 1),
        "files": process.num_fds(),
        "threads": process.num_threads(),
        "children": len(process.children()),
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m lacli.bench.doors crowd", description=__doc__)
    parser.add_argument("-m", "--model")
    parser.add_argument("--clients", type=int, default=CLIENTS)
    given = parser.parse_args(arguments)
    try:
        with served(given.model) as server:
            print(json.dumps(measure(server, given.clients), indent=1))
    except LacliError as error:
        raise SystemExit(str(error)) from None
    return 0
