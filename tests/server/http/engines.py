"""Engines for the tests of the doors, and the doors on a port of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from lacli.assistant.assistant import Assistant
from lacli.assistant.scripted import ScriptedAssistant
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Event, Finished, Piece, Preview, Request
from lacli.server.base import Health
from lacli.server.http.catalogue import Catalogue, ServedModel
from lacli.server.http.run import run_http

TOKEN = "a-token-for-tests"
SMALL = ServedModel("small", "small", context=8192, parameters=135_000_000, byte_size=1000, digest="ab")
CODER = ServedModel("coder", "coder", context=32768, parameters=1_500_000_000, fills=True)
REPLY = "def add(a, b):\n    return a + b\n"

Script = str | Sequence[Event] | LacliError


class FixedCatalogue:
    """A catalogue that is given."""

    def __init__(self, *models: ServedModel) -> None:
        self._models = models

    def models(self) -> tuple[ServedModel, ...]:
        """See `Catalogue.models`."""
        return self._models


@dataclass
class ScriptedEngine:
    """Plays scripts, the last one again and again; notes what it is asked."""

    scripts: list[Script] = field(default_factory=lambda: [REPLY])
    step_s: float = 0.0
    thought: str = ""
    asked: list[tuple[Request, Settings, bool]] = field(default_factory=list)
    warmed: list[Request] = field(default_factory=list)
    previewed: list[Request] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    """For each reply that is over whether it was `whole` or `cancelled`."""
    state: Health = field(default_factory=Health)
    shown: Preview | LacliError | None = None

    @property
    def request(self) -> Request:
        """The last one."""
        return self.asked[-1][0]

    @property
    def settings(self) -> Settings:
        return self.asked[-1][1]

    async def reply(self, request: Request, settings: Settings, urgent: bool = False) -> AsyncGenerator[Event, None]:
        self.asked.append((request, settings, urgent))
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        if isinstance(script, LacliError):
            raise script
        events = ScriptedAssistant([]).reply_events(script, self.thought) if isinstance(script, str) else script
        how = "cancelled"
        try:
            for event in events:
                await asyncio.sleep(self.step_s)
                if isinstance(event, Finished):
                    how = "whole"
                yield event
        finally:
            self.ended.append(how)

    async def preview(self, request: Request, settings: Settings) -> Preview:
        self.previewed.append(request)
        if isinstance(self.shown, LacliError):
            raise self.shown
        if self.shown is not None:
            return self.shown
        return ScriptedAssistant([]).preview(request)

    async def warm(self, request: Request, settings: Settings) -> None:
        self.warmed.append(request)

    def health(self) -> Health:
        return self.state


class AssistantEngine:
    """The real assistant, in this process, one call at a time."""

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant
        self._thread = ThreadPoolExecutor(1)
        self.written = 0
        """The most tokens of a reply."""

    async def reply(self, request: Request, settings: Settings, urgent: bool = False) -> AsyncGenerator[Event, None]:
        loop = asyncio.get_running_loop()
        left = False
        events = self._assistant.reply(request, lambda: left)
        try:
            while (event := await loop.run_in_executor(self._thread, next, events, None)) is not None:
                if isinstance(event, Piece):
                    self.written = max(self.written, event.stats.predicted_n)
                yield event
        finally:
            left = True
            await loop.run_in_executor(self._thread, events.close)  # type: ignore[attr-defined]

    async def preview(self, request: Request, settings: Settings) -> Preview:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._assistant.preview, request)

    async def warm(self, request: Request, settings: Settings) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._assistant.warm, request)

    def health(self) -> Health:
        return Health()

    def close(self) -> None:
        self._thread.shutdown()


@dataclass
class Doors:
    """The doors of an engine, being served."""

    port: int
    engine: Any

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        token: str | None = TOKEN,
    ) -> tuple[int, dict[str, str], bytes]:
        """One request with the token; a body that is no bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        told = {"authorization": f"Bearer {token}"} if token is not None else {}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            connection.request(method, path, data, told | (headers or {}))
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def post(self, path: str, **body: Any) -> Any:
        """The JSON value that a body is answered with; it must be served."""
        status, _, answer = self.send("POST", path, body)
        assert status == 200, answer
        return json.loads(answer)

    def get(self, path: str) -> Any:
        status, _, answer = self.send("GET", path)
        assert status == 200, answer
        return json.loads(answer)

    def refusal(self, path: str, **body: Any) -> tuple[int, Any]:
        """Status and JSON value of an answer that is a refusal."""
        status, _, answer = self.send("POST", path, body)
        assert status >= 400, answer
        return status, json.loads(answer)

    def events(self, path: str, **body: Any) -> list[Any]:
        """The values of a stream of server-sent events; its end mark as it is."""
        status, headers, answer = self.send("POST", path, {**body, "stream": True})
        assert status == 200, answer
        assert headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in answer.decode().split("\n\n") if line.startswith("data: ")]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]


@contextlib.contextmanager
def serving(
    engine: Any,
    catalogue: Catalogue | None = None,
    settings: Settings | None = None,
    host: str = "127.0.0.1",
    ollama: bool = True,
) -> Iterator[Doors]:
    """The doors, served by a thread until the block ends."""
    started = threading.Event()
    ports: list[int] = []
    loop = asyncio.new_event_loop()

    def on_start(port: int) -> None:
        ports.append(port)
        started.set()

    catalogue = catalogue or FixedCatalogue(SMALL, CODER)
    serve = loop.create_task(run_http(engine, host, 0, TOKEN, ollama, settings, catalogue, on_start))

    def run() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(serve)
        started.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert started.wait(10)
        assert ports
        yield Doors(ports[0], engine)
    finally:
        loop.call_soon_threadsafe(serve.cancel)
        thread.join(10)
        assert not thread.is_alive()
        loop.close()
