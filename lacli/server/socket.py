"""The door for lacli's own commands: the worker's protocol over a Unix socket, for the same user only.

Each connection is a client: its calls wait for their turn with the settings it named last, and its end cancels them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import lacli
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Notice
from lacli.server.engine import WorkerEngine
from lacli.server.job import Job
from lacli.worker import endpoint, protocol
from lacli.worker.protocol import (
    Call,
    CancelCall,
    ClientMessage,
    Done,
    ErrorMessage,
    EventMessage,
    Greeting,
    Hello,
    InvalidLine,
    WorkerMessage,
)

_HELLO_S = 10.0
_UNTOLD_S = 1.0
"""How long a request may wait for its turn before its client is told so."""
_WAITING = "the engine is busy with other replies; this one waits for its turn"
_GOODBYE_S, _POLL_S = 1.0, 0.02
_BACKLOG = 128


@asynccontextmanager
async def socket_door(engine: WorkerEngine, path: Path) -> AsyncIterator[None]:
    """Listen at this path, whose folder is the user's alone and where no other engine listens, while the block runs.

    Raises LacliError.
    """
    clients: set[asyncio.StreamWriter] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        clients.add(writer)
        try:
            await _serve(engine, reader, writer)
        finally:
            clients.discard(writer)

    try:
        path.unlink()  # of one that was killed
    except FileNotFoundError:
        pass
    except OSError as error:
        raise LacliError(f"{path} is in the way of the engine's socket: {error.strerror}", f"remove {path}") from error
    umask = os.umask(0o177)
    try:
        server = await asyncio.start_unix_server(accept, path, limit=protocol.MOST_BYTES, backlog=_BACKLOG)
    except OSError as error:
        raise LacliError(
            f"no socket can be made at {path}: {error.strerror or error}", "set LACLI_HOME to a folder on a local disk"
        ) from error
    finally:
        os.umask(umask)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        await asyncio.sleep(_POLL_S)  # those who have just come are let in: asyncio would forget them
        server.close()
        await _say_goodbye(clients)


async def _say_goodbye(clients: set[asyncio.StreamWriter]) -> None:
    """End the connections, those who do not read what was said to them, too."""
    for end in (asyncio.StreamWriter.close, lambda writer: writer.transport.abort()):
        for writer in tuple(clients):
            end(writer)
        until = time.monotonic() + _GOODBYE_S
        while clients and time.monotonic() < until:
            await asyncio.sleep(_POLL_S)


async def _serve(engine: WorkerEngine, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, to its end."""
    client = _Client(engine, writer)
    try:
        if endpoint.is_ours(writer.get_extra_info("socket")):
            await client.greet(reader)
            await client.read(reader)
    except (OSError, ValueError, TimeoutError):  # it broke, or sent a line without end: the same as its end
        pass
    finally:
        await client.leave()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


class _Client:
    """Whoever is at the other end of a connection."""

    def __init__(self, engine: WorkerEngine, writer: asyncio.StreamWriter) -> None:
        self._engine = engine
        self._writer = writer
        self._settings: Settings | None = None
        self._jobs: dict[int, Job] = {}
        """Calls that have not ended, by the client's numbers."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def greet(self, reader: asyncio.StreamReader) -> None:
        """Say who we are, and hear what is wanted."""
        here = Greeting(protocol.PROTOCOL, lacli.__version__, os.getpid(), endpoint.environment())
        await self._send(here)
        hello = await asyncio.wait_for(self._next(reader), _HELLO_S)
        if isinstance(hello, Hello) and hello.protocol == protocol.PROTOCOL:
            self._settings = hello.settings

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Take in calls until the connection ends."""
        while self._settings is not None:
            message = await self._next(reader)
            if isinstance(message, Call):
                self._settings = message.settings or self._settings
                await self._take(message, self._settings)
            elif isinstance(message, CancelCall):
                if message.id in self._jobs:
                    self._engine.cancel(self._jobs[message.id])
            elif isinstance(message, InvalidLine):
                await self._send(message.to_message())
            else:  # it closes, or is gone
                return

    async def leave(self) -> None:
        """Cancel what has not ended."""
        for task in self._tasks:
            task.cancel()
        for job in self._jobs.values():
            self._engine.cancel(job)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _next(self, reader: asyncio.StreamReader) -> ClientMessage | InvalidLine | None:
        line = await reader.readline()
        return protocol.parse_call(line) if line.endswith(b"\n") else None

    async def _take(self, call: Call, settings: Settings) -> None:
        if call.what == "status":
            await self._send(Done(call.id, status=self._engine.status()))
            return
        try:
            urgent = call.request.place is not None
            job = self._engine.submit(call.what, call.request, settings, urgent, client=self)
        except LacliError as error:
            await self._send(ErrorMessage.from_error(error, call.id))
            return
        self._jobs[call.id] = job
        task = asyncio.create_task(self._answer(call.id, job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, number: int, job: Job) -> None:
        """Pass on a call's answers with the client's number."""
        waits = asyncio.get_running_loop().call_later(_UNTOLD_S, self._tell_of_waiting, number, job)
        try:
            async with aclosing(job.answers()) as answers:
                async for answer in answers:
                    if isinstance(answer, Done):
                        await self._send(Done(number, answer.preview))
                    else:
                        await self._send(EventMessage(number, answer))
        except LacliError as error:
            await self._send(ErrorMessage.from_error(error, number))
        finally:
            waits.cancel()
            self._jobs.pop(number, None)

    def _tell_of_waiting(self, number: int, job: Job) -> None:
        """Say why nothing comes, if other clients are served first. Of a batch only the first reply says so, and only
        while none of its own is being written."""
        first = next((each for each in self._jobs.values() if each.what == "reply" and not each.ended), None)
        if job is first and not job.id and self._engine.health().running:
            self._writer.write(protocol.encode(EventMessage(number, Notice(_WAITING))))

    async def _send(self, message: WorkerMessage) -> None:
        """Write a message; one who reads slowly waits for it alone."""
        self._writer.write(protocol.encode(message))
        with contextlib.suppress(OSError):  # it is gone, which its reader finds
            await self._writer.drain()
