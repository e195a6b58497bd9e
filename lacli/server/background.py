"""Starting an engine that outlives the command that starts it, ending one, and reaching one: for both front ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lacli import paths
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.storage import files
from lacli.worker import endpoint
from lacli.worker.attached import NotAttached, attached, connect_or_start, greeted
from lacli.worker.channel import Channel
from lacli.worker.client import WorkerAssistant
from lacli.worker.process import command_of

_START_S, _STOP_S, _KILL_S = 20.0, 20.0, 5.0
_POLL_S = 0.02
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A FIFO in its place is not waited for."""
_WITHOUT = "this runs without it"


def reach(settings: Settings, start: bool, note: Callable[[str], None]) -> WorkerAssistant | None:
    """An assistant of the engine that runs; None where there is none that fits, which is told to `note` in one line.

    `start`: where none runs, start one that stays. Raises LacliError for settings that name no model.
    """
    if start:
        ensure_started(note)
    try:
        return attached(settings)
    except NotAttached as why:
        if why.reason:
            note(f"{why.reason}; {_WITHOUT}")
    return None


def reach_or_start(settings: Settings, start: bool, note: Callable[[str], None]) -> WorkerAssistant:
    """The same for who never waits and wants a process of its own otherwise: it connects with its first call."""

    def connect(settings: Settings) -> Channel:
        if start:
            ensure_started(note)
        return connect_or_start(settings, lambda reason: note(f"{reason}; {_WITHOUT}"))

    return WorkerAssistant(settings, connect=connect)


def ensure_started(note: Callable[[str], None]) -> None:
    """Have an engine run that stays; why none does is told to `note`."""
    if not endpoint.supported() or endpoint.running_pid() is not None:
        return
    try:
        start_detached()
    except LacliError as error:
        note(f"{error.message}; {_WITHOUT}")


def start_detached(arguments: Sequence[str] = ()) -> int:
    """Start `lacli serve` with these arguments in the background; returns its process id once it answers.

    Raises LacliError with what it said where it ends instead.
    """
    log = paths.state_dir() / "engine.log"
    try:
        files.make_private(log.parent)
        with open(os.open(log, _LOG_FLAGS, 0o600), "wb") as said:
            process = subprocess.Popen(
                [*command(), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=os.path.abspath(os.sep),
                start_new_session=True,
            )
    except OSError as error:
        raise LacliError(f"the engine cannot be started: {error.strerror or error}", "see `lacli doctor`") from error
    threading.Thread(target=process.wait, daemon=True).start()  # where it ends before us, nothing is left of it
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        with contextlib.suppress(NotAttached):
            connection, greeting = greeted()
            connection.close()
            if greeting.pid != process.pid:  # another one was quicker
                process.terminate()
            return greeting.pid
        if process.poll() is not None and endpoint.running_pid() is None:  # else it is another one that answers soon
            raise _ended(log, process.returncode)
        time.sleep(_POLL_S)
    process.kill()
    raise LacliError(f"the engine did not answer within {_START_S:.0f} s", f"what it said is in {log}")


def stop() -> int | None:
    """End the engine that runs, however it is; returns its process id, None where none runs. Raises LacliError."""
    pid = endpoint.running_pid()
    if pid is None:
        return None
    for number, seconds in ((signal.SIGTERM, _STOP_S), (getattr(signal, "SIGKILL", signal.SIGTERM), _KILL_S)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if endpoint.running_pid() != pid:
                return pid
            time.sleep(_POLL_S)
    raise LacliError(f"the engine (process {pid}) does not end", f"end it with `kill -9 {pid}`")


def command() -> list[str]:
    """What starts `lacli serve`."""
    return command_of("lacli.cli.main", "serve")


def _ended(log: Path, status: int) -> LacliError:
    """What the engine ended with, told as if it had been started here: the last line that it said, and its code."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    said = lines[-1].removeprefix("lacli: ").removeprefix("error: ") if lines else "it said nothing"
    hint = f"all it said is in {log}" if lines else "`lacli serve` without --detach shows why"
    error = LacliError(f"the engine ended at once: {said}", hint)
    error.exit_code = max(1, status)
    return error
