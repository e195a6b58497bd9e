"""A worker process that serves this front end alone: its start, its streams, its end."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, cast

import lacli
from lacli.config import Settings
from lacli.errors import LacliError, WorkerDied
from lacli.worker import death, protocol
from lacli.worker.channel import JOIN_S, Channel
from lacli.worker.death import STDERR_BYTES, cause_of_death, misunderstood
from lacli.worker.protocol import Hello

_CLOSE_S, _TERMINATE_S = 2.0, 0.5
"""How long `close` waits after asking the worker to end, and after terminating it."""
_EXIT_S = 10.0
"""How long a worker that has closed its output may take to exit."""


def own_command() -> list[str]:
    """The command that starts our worker."""
    return command_of("lacli.worker.server", "lacli.worker.server")


def command_of(module: str, *arguments: str) -> list[str]:
    """What runs `main` of this module with this Python and this lacli, whatever lies in the current folder."""
    root = str(Path(lacli.__file__).resolve().parents[1])
    start = (
        f"import sys; {root!r} in sys.path or sys.path.insert(0, {root!r}); from {module} import main; sys.exit(main())"
    )
    return [sys.executable, "-P", "-c", start, *arguments]


class WorkerProcess(Channel):
    """One process and three threads: one writes to it, one reads its answers, one reads its stderr."""

    def __init__(self, command: Sequence[str], settings: Settings) -> None:
        """Raises LacliError if the process cannot be started."""
        self._stderr = b""
        """The last bytes of it."""
        self._kills_before = death.kills_for_memory()
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=_folder(settings),
                **own_group(),
            )
        except OSError as error:
            raise LacliError(f"the engine's process cannot be started: {error.strerror or error}") from error
        super().__init__(settings, self._process.pid)
        self.send(Hello(protocol.PROTOCOL, settings))
        self._reader, self._stderr_reader, self._writer = (
            threading.Thread(target=work, name=f"worker {self.pid}", daemon=True)
            for work in (self._read_answers, self._read_stderr, self._write_requests)
        )
        for thread in (self._reader, self._stderr_reader, self._writer):
            thread.start()

    def close(self) -> None:
        """Ask the process to end, and kill it if it does not; it is gone when this returns."""
        self._closing = True
        self._outbox.put(None)
        self._wait(_CLOSE_S)
        if self._process.poll() is None:
            self._process.terminate()
            self._wait(_TERMINATE_S)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for thread in (self._reader, self._stderr_reader, self._writer):
            thread.join(JOIN_S)

    def _wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def _write_requests(self) -> None:
        self._write(cast(io.RawIOBase, self._process.stdin))

    def _read_answers(self) -> None:
        """Deliver answers until the stream ends, then tell every running call how the process ended."""
        try:
            with io.BufferedReader(cast(io.RawIOBase, self._process.stdout), 1 << 16) as stream:
                self._read(stream)
        except Exception as error:  # whatever it is, no call may wait for ever
            self._protocol_error = f"{type(error).__name__}: {error}"
        if not self._protocol_error:
            self._wait(_EXIT_S)
        if self._process.poll() is None:
            self._process.kill()
        status = self._process.wait()
        self._outbox.put(None)
        self._stderr_reader.join(JOIN_S)  # its last words are in the pipe, unless a process of its own holds that
        self._died(self._cause_of_death(status))

    def _read_stderr(self) -> None:
        stderr = cast(IO[bytes], self._process.stderr)
        with stderr, contextlib.suppress(OSError, ValueError):
            while chunk := stderr.read(STDERR_BYTES):
                self._stderr = (self._stderr + chunk)[-STDERR_BYTES:]

    def _cause_of_death(self, status: int) -> WorkerDied:
        stderr = self._stderr.decode(errors="replace")
        if self._closing:
            return WorkerDied("the engine was closed", stderr=stderr)
        if self._protocol_error:
            return misunderstood(self._protocol_error, stderr)
        return cause_of_death(status, stderr, self._kills_before)


def _folder(settings: Settings) -> Path | None:
    """Where the process starts: here, or in the folder it works for if this one is gone. Raises LacliError."""
    folder = settings.folder or Path()
    try:
        if folder.is_dir():
            return None if Path.cwd().is_dir() else folder
    except OSError:  # of the current folder
        return folder
    raise LacliError(f"the folder {folder} is not there any more", "put it back, or start lacli in another folder")


def own_group() -> dict[str, Any]:
    """What `subprocess` starts a process with that gets nothing of what the keyboard sends to the front end."""
    if sys.platform != "win32":
        return {"process_group": 0}
    return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
