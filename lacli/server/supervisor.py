"""One engine for a user: alone, reachable by its doors, until it is told to stop.

This process never computes and imports nothing that does; it stays small while its workers come and go.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from lacli.errors import LacliError, unwritable
from lacli.server.engine import KEEP_ALIVE_S, WorkerEngine
from lacli.server.socket import socket_door
from lacli.storage import files
from lacli.storage.lock import lock_file
from lacli.worker import endpoint

Door = Callable[[WorkerEngine], AbstractAsyncContextManager[object]]
"""What opens another way in, while its block runs. It may raise LacliError."""

_LOCK_S = 0.2
"""More than it takes somebody else to find out whether the lock is held."""
_ROOM_FOR_TWO = 12_000_000_000
"""Bytes of memory from which on two models are kept by default."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How an engine serves."""

    models: int = 0
    """Most models in memory at a time; 0 is what suits this computer."""
    keep_alive_s: float = KEEP_ALIVE_S
    command: tuple[str, ...] = ()
    """Starts another worker than ours, for tests."""


class AlreadyRuns(LacliError):
    """There is an engine for these folders."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"an engine runs already (process {pid})", "`lacli serve --status` shows it, --stop ends it")
        self.pid = pid


def run(options: ServeOptions, doors: Sequence[Door] = (), ready: Callable[[Path], None] = lambda path: None) -> None:
    """Serve until a signal to terminate or to interrupt. `ready` is called once everything listens.

    Raises AlreadyRuns, and LacliError where it cannot listen.
    """
    if not endpoint.supported():
        raise LacliError("`lacli serve` needs Unix sockets, which this Python does not have")
    with _alone():
        asyncio.run(_serve(options, doors, ready))


async def _serve(options: ServeOptions, doors: Sequence[Door], ready: Callable[[Path], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if signal.getsignal(getattr(signal, name)) != signal.SIG_IGN:  # nohup ignores hang-ups
            loop.add_signal_handler(getattr(signal, name), stop.set)
    engine = WorkerEngine(options.models or _suitable_models(), options.keep_alive_s, options.command)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(engine.close)
        path = endpoint.socket_path()
        await stack.enter_async_context(socket_door(engine, path))
        for door in doors:
            await stack.enter_async_context(door(engine))
        ready(path)
        await stop.wait()
        await engine.close()  # before the doors: whoever waits for a reply is told


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock of this user's engine. Raises AlreadyRuns."""
    path = endpoint.lock_path()
    try:
        _make_folder(path.parent)
        descriptor = endpoint.open_lock(os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise unwritable(path, error, "free some space, or set LACLI_HOME to another folder") from error
    with open(descriptor, "r+b", buffering=0) as file:
        if not lock_file(file, _LOCK_S):
            raise AlreadyRuns(endpoint.running_pid() or 0)
        file.truncate()
        file.write(str(os.getpid()).encode())
        try:
            yield
        finally:
            file.truncate(0)


def _make_folder(folder: Path) -> None:
    """The folder of the socket, which must be the user's alone. Raises OSError, LacliError."""
    files.make_private(folder)
    found = os.lstat(folder)
    if stat.S_ISLNK(found.st_mode) or found.st_uid != os.getuid():
        raise LacliError(
            f"{folder} belongs to somebody else", f"remove {folder}, or give LACLI_HOME or XDG_RUNTIME_DIR another one"
        )
    files.restrict(folder, 0o700)


def _suitable_models() -> int:
    """How many models fit into this computer's memory beside everything else."""
    try:
        return 2 if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >= _ROOM_FOR_TWO else 1
    except (OSError, ValueError, AttributeError):
        return 1
