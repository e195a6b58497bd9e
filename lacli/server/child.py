"""A worker process as an event loop sees it: `lacli.worker.process` for asyncio. No request waits here."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence

from lacli.config import Settings
from lacli.errors import LacliError, WorkerDied
from lacli.worker import death, protocol
from lacli.worker.process import own_group
from lacli.worker.protocol import (
    ClientMessage,
    Close,
    Done,
    ErrorMessage,
    EventMessage,
    Greeting,
    Hello,
    InvalidLine,
    Places,
    WorkerMessage,
)

Answer = EventMessage | Done | ErrorMessage | Places

_CLOSE_S, _TERMINATE_S = 10.0, 1.0
"""How long it may take to finish its step and save, and to end after it was terminated."""
_STDERR_S = 0.2


class Child:
    """One worker. Its answers, and at last its death, are told as they come."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        on_answer: Callable[[Answer], None],
        on_death: Callable[[WorkerDied], None],
    ) -> None:
        self.pid = process.pid
        self._process = process
        self._on_answer = on_answer
        self._on_death = on_death
        self._closing = False
        self._kills_before = death.kills_for_memory()
        self._stderr = b""
        """The last bytes of it."""
        self._ended = asyncio.create_task(self._live())

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        settings: Settings,
        on_answer: Callable[[Answer], None],
        on_death: Callable[[WorkerDied], None],
    ) -> Child:
        """Start one for the model of these settings. Raises LacliError."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=protocol.MOST_BYTES,
                cwd=os.path.abspath(os.sep),  # no folder that somebody may want to delete, or unmount
                **own_group(),
            )
        except OSError as error:
            raise LacliError(f"the engine's process cannot be started: {error.strerror or error}") from error
        child = cls(process, on_answer, on_death)
        child.send(Hello(protocol.PROTOCOL, settings))
        return child

    def send(self, message: ClientMessage) -> None:
        """Have the message written; never waits. One that has ended gets it no more."""
        stdin = self._process.stdin
        assert stdin is not None
        if not stdin.is_closing():
            stdin.write(protocol.encode(message))

    async def close(self) -> None:
        """Let it finish its step and save; it is gone when this returns."""
        self._closing = True
        self.send(Close())
        if not await self._gone(_CLOSE_S):
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            if not await self._gone(_TERMINATE_S):
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
        await self._ended

    async def _gone(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), seconds)
            return True
        return False

    async def _live(self) -> None:
        """Tell what it answers until it ends, then how that came."""
        stderr = asyncio.create_task(self._read_stderr())
        nonsense = await self._read_answers()
        if nonsense or not await self._gone(_CLOSE_S):
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        status = await self._process.wait()
        await asyncio.wait((stderr,), timeout=_STDERR_S)  # a process of its own may hold that open
        stderr.cancel()
        self._on_death(self._cause(status, nonsense))

    async def _read_answers(self) -> str:
        """Tell its answers; returns why no more of them can be understood, if that is so."""
        stdout = self._process.stdout
        assert stdout is not None
        while True:
            try:
                line = await stdout.readline()
            except ValueError:
                return "a line is too long"
            if not line.endswith(b"\n"):  # its end, or it died in the middle of a line
                return ""
            nonsense = self._take(protocol.parse_event(line))
            if nonsense:
                return nonsense

    def _take(self, message: WorkerMessage | InvalidLine) -> str:
        if isinstance(message, InvalidLine):
            return message.reason
        if isinstance(message, Greeting):
            if message.protocol != protocol.PROTOCOL:
                return f"it speaks version {message.protocol} of the protocol, not {protocol.PROTOCOL}"
        elif isinstance(message, ErrorMessage) and message.id is None:
            return message.message
        else:
            self._on_answer(message)
        return ""

    async def _read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while chunk := await stderr.read(death.STDERR_BYTES):
            self._stderr = (self._stderr + chunk)[-death.STDERR_BYTES :]

    def _cause(self, status: int, nonsense: str) -> WorkerDied:
        stderr = self._stderr.decode(errors="replace")
        if self._closing:
            return WorkerDied("the engine was closed", stderr=stderr)
        if nonsense:
            return death.misunderstood(nonsense, stderr)
        return death.cause_of_death(status, stderr, self._kills_before)
