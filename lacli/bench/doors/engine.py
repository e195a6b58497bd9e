"""A `lacli serve` of the bench's own, with HTTP, in a home of its own; and requests to servers by HTTP."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacli.bench.workplace import environment, new_home, workplace
from lacli.errors import LacliError

TOKEN = "a-token-of-the-bench"
_START_S, _ANSWER_S, _END_S = 30.0, 300.0, 20.0


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens at a port of this computer."""

    port: int
    token: str = ""
    pid: int = 0
    folder: Path = Path()
    """A project of its own, in `home`'s eyes without anything learned."""
    home: Path = Path()

    def post(self, path: str, body: dict[str, Any]) -> tuple[Any, float]:
        """The JSON value of an answer, and the seconds it took with a connection of its own, as `curl` has. Raises
        LacliError where it is refused."""
        data = json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        began = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_ANSWER_S)
        try:
            connection.request("POST", path, data, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        took = time.perf_counter() - began
        if answer.status != 200:
            raise LacliError(f"{path} of port {self.port}: {answer.status} {text[:200].decode(errors='replace')}")
        return json.loads(text), took


@contextlib.contextmanager
def served(model: str | None = None, threads: int = 0, ollama: bool = False) -> Iterator[Served]:
    """An engine while the block runs; 0 `threads` are its own default. Raises LacliError where it does not start."""
    with workplace("doors") as folder:
        home, project = new_home(folder / "home"), folder / "project"
        (project / ".git").mkdir(parents=True)
        port = _free_port()
        options = ["--port", str(port), *(["--model", model] if model else [])]
        options += [*(["--threads", str(threads)] if threads else []), *(["--ollama"] if ollama else [])]
        said = folder / "said"
        with open(said, "wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "lacli", "serve", *options],
                env=environment(home) | {"LACLI_TOKEN": TOKEN, "XDG_RUNTIME_DIR": str(folder)},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        try:
            _wait(port, process, said)
            yield Served(port, TOKEN, process.pid, project, home)
        finally:
            process.terminate()
            process.wait(_END_S)


def _wait(port: int, process: subprocess.Popen[bytes], said: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise LacliError(f"the engine does not answer: {said.read_text(errors='replace').strip()}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
