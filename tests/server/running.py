"""An engine with its socket in a thread of the test's process. Its workers are the quick ones of `worker_child`, or, of
no kind, the real one."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import psutil

from lacli.server.engine import WorkerEngine
from lacli.server.socket import socket_door
from lacli.worker import endpoint
from tests.worker.worker_child import command

ENOUGH_S = 20.0


class Running:
    """One that serves."""

    def __init__(self, kind: str | None, arguments: tuple[str, ...], models: int) -> None:
        self.engine: Any = None
        self._arguments = (models, 600.0, command(kind, *arguments) if kind else None)
        self._begun = threading.Event()
        self._loop: Any = None
        self._stop: Any = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self.engine = WorkerEngine(*self._arguments)
        endpoint.socket_path().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with socket_door(self.engine, endpoint.socket_path()):
            self._begun.set()
            await self._stop.wait()
            await self.engine.close()

    def start(self) -> None:
        self._thread.start()
        assert self._begun.wait(ENOUGH_S)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(ENOUGH_S)
        assert not self._thread.is_alive()

    def workers(self) -> list[psutil.Process]:
        return workers()


def workers() -> list[psutil.Process]:
    """The worker processes there are, zombies included."""
    return [each for each in psutil.Process().children() if _is_worker(each)]


def _is_worker(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        if process.status() == psutil.STATUS_ZOMBIE:
            return True
        return any("worker" in each for each in process.cmdline())
    return False


@contextlib.contextmanager
def serving(kind: str | None = "echo", *arguments: str, models: int = 2) -> Iterator[Running]:
    made = Running(kind, arguments, models)
    made.start()
    try:
        yield made
    finally:
        made.stop()
        assert not made.workers()
        assert not endpoint.socket_path().exists()
