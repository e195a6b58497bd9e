"""`lacli acp` and `lacli lsp` as real processes, with an engine that is told what to answer."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from lacli.assistant.scripted import ScriptedAssistant
from lacli.config import Settings
from lacli.worker import server as worker

ROOT = Path(__file__).resolve().parents[2]
ENOUGH_S = 20.0
_START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.server import door; "


def command(kind: str, *arguments: str) -> list[str]:
    """What starts a door. `kind` names a worker of `worker_child`, or is a JSON list of what the engine answers."""
    return [sys.executable, "-P", "-c", f"{_START}sys.exit(door.main(*sys.argv[1:]))", kind, *arguments]


def real(*arguments: str) -> list[str]:
    """What starts one with the default model."""
    start = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from lacli.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    return [sys.executable, "-P", "-c", start, *arguments]


def main(kind: str, *arguments: str) -> int:
    """The door's process. It prints what no protocol wants to hear."""
    from lacli.cli.main import main as lacli
    from lacli.server.stdio import engine
    from lacli.worker.client import WorkerAssistant
    from tests.worker import worker_child

    def child(settings: Settings) -> WorkerAssistant:
        print("a library says hello", flush=True)
        os.write(1, b"and so does another\n")
        if kind.startswith("["):
            return WorkerAssistant(settings, [sys.executable, "-P", "-c", f"{_START}door.scripted(sys.argv[1])", kind])
        return WorkerAssistant(settings, worker_child.command(kind))

    engine.where = lambda attach, start, note: child  # type: ignore[assignment,misc]
    return lacli(list(arguments))


def scripted(answers: str) -> None:
    """The worker's process: it gives these answers, one after the other."""
    worker.run(lambda settings: ScriptedAssistant(json.loads(answers)))


def children(pid: int) -> list[psutil.Process]:
    """The processes that this one has started."""
    return psutil.Process(pid).children(recursive=True)


def until(true: Callable[[], object]) -> None:
    """Wait for something that has to come."""
    end = time.monotonic() + ENOUGH_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)
