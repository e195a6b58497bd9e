"""The doors on a port: one coroutine that serves until it is cancelled.

Signals, what is printed and when to end are the command's; nothing here writes to the terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from lacli.config import Settings
from lacli.errors import UsageError
from lacli.server.base import Engine
from lacli.server.http.app import application
from lacli.server.http.catalogue import Catalogue, RegistryCatalogue
from lacli.server.http.counters import Counters
from lacli.server.http.exchange import Services

HEAD_S = 15.0
"""For the head of a request, and for a new connection to begin one."""
_KEEP_ALIVE_S = 75
_LEAVING_S = 2
"""For replies that are being written when the server is to end."""
_MOST_CONNECTIONS = 512
_BACKLOG = 128

OnStart = Callable[[int], None]


async def run_http(
    engine: Engine,
    host: str,
    port: int,
    token: str,
    ollama: bool = False,
    settings: Settings | None = None,
    catalogue: Catalogue | None = None,
    on_start: OnStart = lambda port: None,
) -> None:
    """Serve the doors at this address until cancelled. Raises UsageError where it cannot be listened at.

    token: what every request must have; ollama: whether its API is served, too; settings: what every request has
    besides its model and project; on_start: called with the port once connections are taken.
    """
    settings = settings or Settings()
    services = Services(engine, catalogue or RegistryCatalogue(settings.model), settings, Counters())
    with contextlib.closing(_listening(host, port)) as listener:
        config = uvicorn.Config(
            application(services, token, host, ollama),
            http=_TimedConnection,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_LEAVING_S,
            limit_concurrency=_MOST_CONNECTIONS,
        )
        server = _Server(config, on_start)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            server.should_exit = True
            await serving
            await server.leave()
            raise


@contextlib.asynccontextmanager
async def http_door(
    engine: Engine,
    host: str,
    port: int,
    token: str,
    ollama: bool,
    settings: Settings,
    started: OnStart,
) -> AsyncIterator[None]:
    """The same while a block runs, which begins once connections are taken."""
    listens = asyncio.Event()

    def on_start(port: int) -> None:
        started(port)
        listens.set()

    serving = asyncio.create_task(run_http(engine, host, port, token, ollama, settings, on_start=on_start))
    begun = asyncio.create_task(listens.wait())
    try:
        await asyncio.wait((serving, begun), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()  # raises why it does not listen
        yield
    finally:
        begun.cancel()
        serving.cancel()
        await asyncio.gather(serving, begun, return_exceptions=True)


class _Server(uvicorn.Server):
    """uvicorn's, which leaves signals to the command."""

    def __init__(self, config: uvicorn.Config, on_start: OnStart) -> None:
        super().__init__(config)
        self._on_start = on_start

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None of them."""
        yield

    async def leave(self) -> None:
        """Wait for what was cancelled as it took too long, and let go of whoever is still connected."""
        await asyncio.gather(*self.server_state.tasks, return_exceptions=True)
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # they are told in the loop's next round

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if sockets:
            self._on_start(sockets[0].getsockname()[1])


class _TimedConnection(H11Protocol):
    """A connection whose client has so long for the head of a request; uvicorn would wait for ever."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """The time for the first head begins."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """It ends with the head, and begins again with the first byte of the next one."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_watching()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD_S, self.transport.close)

    def _stop_watching(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if hasattr(socket, "SO_REUSEPORT"):  # elsewhere, on Windows, reuse would let others take the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except (OSError, OverflowError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{host}:{port} cannot be listened at: {why}", "give another --port, or end what serves there"
        ) from None
    return listener
