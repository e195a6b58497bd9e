"""Programs forked from a process that has imported what they need: starting Python anew takes a second each time.

For tests of what a program does on a terminal, not of how it starts: other tests start real processes.
`python -m tests.forks FD` is the server; it is asked over that socket and forks once for each program.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import select
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_READ_AT_START = ("PYTHONIOENCODING", "PYTHONUTF8", "PYTHONUNBUFFERED", "PYTHONWARNINGS", "FRESH")
"""Variables that Python reads when it starts, and a fork would not; FRESH is a test's wish for a process of its own."""


class ForkServer:
    """The tests' side."""

    def __init__(self) -> None:
        self._line, its = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forks", str(its.fileno())],
                **{"cwd": ROOT, "env": environment, "pass_fds": [its.fileno()], "start_new_session": True},
            )

    def start(self, command: Sequence[str], terminal: int, **more: str) -> Forked:
        """Run `python FILE ...` or `python -c TEXT ...` on this terminal, with more in its environment."""
        reader, writer = os.pipe()
        with tempfile.TemporaryFile() as asked:
            asked.write(json.dumps([list(command[1:]), os.environ | more, os.getcwd()]).encode())
            asked.flush()
            socket.send_fds(self._line, [b"x"], [asked.fileno(), writer, terminal])
            os.close(writer)
            return Forked(reader)

    def close(self) -> None:
        self._line.close()
        self._process.wait(30)


class Forked:
    """A program that was forked."""

    def __init__(self, status: int) -> None:
        self._status = status
        self.pid = int(self._line())
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""
        if self._code is None and select.select([self._status], [], [], 0)[0]:
            self.wait()
        return self._code

    def wait(self) -> int:
        if self._code is None:
            self._code = int(self._line())
            os.close(self._status)
        return self._code

    def _line(self) -> bytes:
        return b"".join(iter(lambda: os.read(self._status, 1), b"\n"))


def can_fork(command: Sequence[str]) -> bool:
    """Whether a fork would be no other than this program, started in this environment."""
    is_program = len(command) > 1 and command[0] == sys.executable and command[1] not in ("-m", "-X")
    plain = os.environ.get("LC_ALL") == "C.UTF-8" and "HF_HUB_OFFLINE" in os.environ
    return is_program and plain and not any(name in os.environ for name in _READ_AT_START)


_server: ForkServer | None = None


def fork_server() -> ForkServer:
    """One for this process, started when it is first needed."""
    global _server
    if _server is None:
        _server = ForkServer()
    return _server


def close() -> None:
    global _server
    if _server is not None:
        _server.close()
        _server = None


def _warm() -> None:
    """Import all commands and the terminal UI, and what they draw with."""
    import prompt_toolkit.shortcuts  # noqa: F401
    import rich.console  # noqa: F401

    for name in ("lacli.cli", "lacli.assistant", "lacli.chat", "lacli.sessions", "lacli_tui"):
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    heavy = {"torch", "transformers", "huggingface_hub"} & set(sys.modules)
    assert not heavy, f"importing the front ends imports {heavy}"


def _serve(line: socket.socket) -> list[str]:
    """Returns in each program, with the arguments of Python."""
    while True:
        data, files, _, _ = socket.recv_fds(line, 1, 3)
        _reap()
        if not data:
            os._exit(0)
        if os.fork() == 0:
            line.close()
            if arguments := _watched(*files):
                return arguments
            os._exit(0)
        for file in files:
            os.close(file)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _watched(asked: int, status: int, terminal: int) -> list[str]:
    """Fork the program, tell its id and then its exit code; returns its arguments in the program, else nothing."""
    child = os.fork()
    if child:
        os.close(terminal)
        os.write(status, b"%d\n" % child)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(status, b"%d\n" % code)
        return []
    import fcntl
    import termios

    os.close(status)
    os.setsid()
    for number in range(3):
        os.dup2(terminal, number)
    os.close(terminal)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    with open(asked, "rb") as file:
        file.seek(0)
        arguments: list[str]
        arguments, environment, folder = json.load(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    return arguments


def _streams() -> None:
    """Standard streams as Python makes them at a terminal."""
    for number, (name, mode, errors) in enumerate(
        (("stdin", "r", "surrogateescape"), ("stdout", "w", "surrogateescape"), ("stderr", "w", "backslashreplace"))
    ):
        stream = open(number, mode, encoding="utf-8", errors=errors, buffering=1, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _program(arguments: Sequence[str]) -> tuple[types.CodeType, dict[str, Any]]:
    """The code to run, and the module in which it does."""
    if arguments[0] == "-c":
        source, name, place = arguments[1], "<string>", ""
        sys.argv[:] = ["-c", *arguments[2:]]
    else:
        name = arguments[0]
        source, place = Path(name).read_text(encoding="utf-8"), str(Path(name).parent)
        sys.argv[:] = arguments
    more = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:0] = [place, *more]
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    return compile(source, name, "exec"), main.__dict__


if __name__ == "__main__":
    _warm()
    _arguments = _serve(socket.socket(fileno=int(sys.argv[1])))
    _streams()
    exec(*_program(_arguments))
