"""A contestant's process as its user sees it: started, asked, ended.

`serve` is the other end. A contestant that fails or dies raises `Failed`; nothing else of it reaches the caller.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

import lacli

_ROOT = Path(lacli.__file__).resolve().parent.parent
_LEAVE_S = 10


class Failed(Exception):
    """What a contestant said, or how it ended, in one line."""


class Worker:
    """One child process. Its other output goes to a file, whose last line is shown where it dies."""

    def __init__(self, command: Sequence[str], timeout_s: float = 600) -> None:
        self._timeout_s = timeout_s
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed in close
        try:
            self._child = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            self._log.close()
            raise Failed(f"it could not be started: {error}") from error

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """The answer to one order. Raises Failed; after a time-out the process is gone."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        clock = threading.Timer(self._timeout_s, self._child.kill)
        clock.start()
        try:
            self._child.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._child.stdin.flush()
            line = self._child.stdout.readline()
        except OSError:
            line = ""
        finally:
            clock.cancel()
        if not line:
            raise Failed(self._end())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        found: dict[str, Any] = answer["ok"]
        return found

    def cpu_seconds(self) -> float:
        """Time its threads have run so far."""
        try:
            times = psutil.Process(self._child.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def close(self) -> None:
        """End it, by closing its stdin first."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._child.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._log.close()

    def _end(self) -> str:
        try:
            code = self._child.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        self._log.seek(0)
        lines = [line.strip() for line in self._log if line.strip()]
        return f"it ended with {code}: {lines[-1] if lines else 'without a word'}"


def command_of(python: str, module: str) -> list[str]:
    """How a worker is started. lacli's folder comes last on the path: a peer's own packages win, and only what the
    module itself imports is read from there."""
    code = f"import sys; sys.path.append({str(_ROOT)!r}); from lacli.bench.peers.{module} import main; main()"
    return [python, "-I", "-c", code]
