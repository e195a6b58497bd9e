"""The program run in this process with a scripted assistant, and in a subprocess or pseudo-terminal for real."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.cli.main import main
from tests.forks import Forked, can_fork, fork_server

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Result:
    """What a run left."""

    code: int
    out: str
    err: str


@dataclass
class Scripted:
    """Runs commands whose assistant plays scripts."""

    run: Callable[..., Result]
    assistants: list[ScriptedAssistant]
    settings: list[Any]


def run_main(
    arguments: Sequence[str],
    stdin: bytes,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Result:
    """Run a command in this process, with these bytes in its stdin, a pipe that ends."""
    reader, writer = os.pipe()
    os.write(writer, stdin)
    os.close(writer)
    with open(reader, encoding="utf-8", errors="surrogateescape") as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        capfdbinary.readouterr()
        code = main(arguments)
    out, err = capfdbinary.readouterr()
    return Result(code, out.decode(errors="surrogateescape"), err.decode())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a project."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Scripted:
    """`run(arguments, scripts, stdin=None)`: stdin None is a closed pipe without a byte."""
    made: list[ScriptedAssistant] = []
    settings: list[Any] = []

    def run(
        arguments: Sequence[str], scripts: Sequence[Any] = ("hello",), stdin: bytes = b"", opening: Sequence[Any] = ()
    ) -> Result:
        def assistant(given: Any) -> ScriptedAssistant:
            settings.append(given)
            made.append(ScriptedAssistant(scripts, opening))
            return made[-1]

        monkeypatch.setattr("lacli.assistant.assistant.Assistant", assistant)
        return run_main(arguments, stdin, monkeypatch, capfdbinary)

    return Scripted(run, made, settings)


SCRIPTED_PROGRAM = """
import json, os, sys, time
import lacli.assistant.assistant
from lacli.cli.main import main
from lacli.assistant.scripted import ScriptedAssistant

def say(word):
    print(word, file=sys.stderr, flush=True)

class Slow(ScriptedAssistant):
    def reply(self, request, cancel=lambda: False):
        if "STUCK" in os.environ:
            say("ready")
            while not cancel():
                time.sleep(0.01)
            say("asked")
            time.sleep(60)
        pause = float(os.environ.get("PAUSE", "0"))
        try:
            if "SAY_BEGUN" in os.environ:
                say("begun")
            for event in super().reply(request, cancel):
                time.sleep(pause)
                yield event
        finally:
            if "SAY_CLOSED" in os.environ:
                say("closed")

    def open(self, report=lambda event: None):
        super().open(report)
        if "LOADS" in os.environ:
            say("loads")
            time.sleep(float(os.environ["LOADS"]))
        if "IMPORTS" in os.environ:
            import swallows
        if "SWALLOWS" in os.environ:
            try:
                say("ready")
                time.sleep(60)
            except KeyboardInterrupt:  # as an import with a bare except does
                pass

lacli.assistant.assistant.Assistant = lambda settings: Slow(json.loads(os.environ["SCRIPTS"]))
sys.exit(main())
"""


@dataclass
class Program:
    """The scripted program as a process of its own."""

    folder: Path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(self.folder / "program.py"), *arguments]

    def shell(self, line: str, timeout: float = 30, **environment: str) -> subprocess.CompletedProcess[bytes]:
        """Run a line of shell in which `lacli` is the program."""
        script = f'lacli() {{ "{sys.executable}" "{self.folder / "program.py"}" "$@"; }}\n{line}\n'
        return subprocess.run(
            ["bash", "-c", script], capture_output=True, timeout=timeout, env=os.environ | environment, check=False
        )


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A process whose assistant plays the texts in SCRIPTS (JSON), PAUSE seconds an event."""
    (tmp_path / "program.py").write_text(SCRIPTED_PROGRAM, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("SCRIPTS", '["hello world"]')
    return Program(tmp_path)


class Terminal:
    """A process on a pseudo-terminal; `seen` is every byte it wrote."""

    def __init__(self, command: Sequence[str], columns: int = 100) -> None:
        pty = pytest.importorskip("pty")
        termios = pytest.importorskip("termios")

        self._forked: Forked | None = None
        if can_fork(command):
            self._fd, inner = pty.openpty()
            termios.tcsetwinsize(inner, (30, columns))
            self._forked = fork_server().start(command, inner, TERM="xterm")
            self._pid = self._forked.pid
            os.close(inner)
        else:
            self._pid, self._fd = pty.fork()
            if self._pid == 0:
                os.environ["TERM"] = "xterm"
                os.execv(command[0], list(command))
            termios.tcsetwinsize(self._fd, (30, columns))
        self.seen = b""
        self._waited = 0

    def signal_foreground(self, number: int) -> None:
        """Send a signal to whatever the terminal would send Ctrl-C to."""
        os.killpg(os.tcgetpgrp(self._fd), number)

    def echoes(self) -> bool:
        """Whether typed keys are shown."""
        import termios

        return bool(termios.tcgetattr(self._fd)[3] & termios.ECHO)

    def send(self, data: bytes) -> None:
        os.write(self._fd, data)

    def wait_for(self, text: bytes, timeout: float = 20) -> None:
        """Read until `text` was written after what was waited for before."""
        until = time.monotonic() + timeout
        while text not in self.seen[self._waited :]:
            assert self._read(until), f"{text!r} never came: {self.seen!r}"
        self._waited = self.seen.index(text, self._waited) + len(text)

    def finish(self, timeout: float = 20) -> int:
        """Read to the end and return the exit code."""
        until = time.monotonic() + timeout
        while self._read(until):
            pass
        code = self.wait()
        os.close(self._fd)
        return code

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        return self._forked.wait() if self._forked else os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def poll(self) -> int | None:
        """Its exit code if it has ended."""
        if self._forked:
            return self._forked.poll()
        ended, status = os.waitpid(self._pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if ended else None

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        self.wait()  # or other tests would count it among their own

    def _read(self, until: float) -> bool:
        """Some more bytes; False at the end. A process that says nothing until then is killed."""
        ready, _, _ = select.select([self._fd], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            self.kill()
            raise AssertionError(f"still running: {self.seen!r}")
        try:
            data = os.read(self._fd, 4096)
        except OSError:  # Linux: the other side is gone
            return False
        self.seen += data
        return bool(data)
