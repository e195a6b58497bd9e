"""A place in which a command writes the same bytes every time, and what it writes there: through pipes, on a terminal.

Everything that differs between computers and days is either pinned (ids, clocks, folders) or replaced by `normal`.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lacli import __version__
from lacli.assistant.base import Cancel, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.cli.main import main
from lacli.events import Attachment, Counts, Event, Request
from tests.sessions.turns import turn

ROOT = Path(__file__).resolve().parents[2]
NOW = 1_790_000_000.0
"""Monday, 21 September 2026, 14:13 UTC."""
WIDTH, HEIGHT = 80, 24
_TICK_S = 0.2
"""What an event takes: the numbers below a reply are drawn anew with every third."""

A_PY = """import os


def rename(old, new):
    os.rename(old, new)


def main():
    rename("a", "b")
"""


@dataclass(frozen=True)
class Output:
    """What a command left."""

    code: int
    streams: dict[str, bytes]
    """By name: `stdout` and `stderr`, or `terminal`, where both go to one."""


@dataclass
class World:
    """A project folder, the current one, and a home of its own."""

    folder: Path
    patch: pytest.MonkeyPatch
    now: float = NOW
    assistants: list[ScriptedAssistant] = field(default_factory=list)

    @property
    def site(self) -> Path:
        return self.folder / "site"

    def run(
        self, arguments: Sequence[str], scripts: Sequence[Any], opening: Sequence[Event], stdin: bytes | None, tty: bool
    ) -> Output:
        """Run a command; without `stdin` it is the null device, or the terminal."""

        def assistant(settings: Any) -> Ticking:
            self.assistants.append(Ticking(self, scripts, opening))
            return self.assistants[-1]

        self.patch.setattr("lacli.assistant.assistant.Assistant", assistant)
        with contextlib.ExitStack() as stack:
            if tty:
                terminal = stack.enter_context(_terminal())
                keyboard, screens = terminal.side, {"stdout": terminal, "stderr": terminal}
            else:
                keyboard = os.open(os.devnull, os.O_RDONLY)
                stack.callback(os.close, keyboard)
                screens = {name: stack.enter_context(_pipe()) for name in ("stdout", "stderr")}
            self._stream("stdin", keyboard if stdin is None else stack.enter_context(_fed(stdin)), "r")
            for name, there in screens.items():
                self._stream(name, there.side, "w")
            code = main(arguments)
            for name in (*screens, "stdin"):
                getattr(sys, name).close()
        if tty:
            return Output(code, {"terminal": bytes(screens["stdout"].seen)})
        return Output(code, {name: bytes(there.seen) for name, there in screens.items()})

    def normal(self, data: bytes) -> bytes:
        """The bytes without what belongs to this computer and this run."""
        places = {f"{self.site}": "SITE", f"{self.folder / 'home'}": "HOME", f"{ROOT}": "REPO"}
        for place, name in places.items():
            data = data.replace(os.path.realpath(place).encode(), name.encode())
        for pattern, name in _PATTERNS:
            data = re.sub(pattern, name, data)
        return data

    def _stream(self, name: str, descriptor: int, mode: str) -> None:
        opened = open(os.dup(descriptor), mode, encoding="utf-8", errors="surrogateescape", newline="\n")  # noqa: SIM115
        self.patch.setattr(sys, name, opened)


_PATTERNS: tuple[tuple[bytes, bytes], ...] = (
    (rb"site-[0-9a-f]{16}", b"site-KEY"),
    (re.escape(__version__).encode(), b"VERSION"),
    (rb"avx512-vnni|avx2|neon-dot|portable", b"ISA"),
    (rb"[0-9.]+ [MG]B of [0-9.]+ [MG]B", b"FREE of ALL"),
    (rb'("free": )[0-9]+(, "total": )[0-9]+', rb"\1FREE\2ALL"),
    (rb'("updated": )[0-9]+', rb"\1WHEN"),  # of a file, as the disk says
    (rb"(?m)^.*(, lacli VERSION)$", rb"MACHINE\1"),
    # what doctor finds of this computer
    (rb"(?m)^(ok    (?:python|kernels|memory|disk|git) +).*", rb"\1..."),
    (rb'("name": "(?:python|kernels|memory|disk|git)", "state": "ok", "text": )"[^"]*"', rb'\1"..."'),
)


class Ticking(ScriptedAssistant):
    """One whose events take their time, on the clock of its world."""

    def __init__(self, world: World, scripts: Sequence[Any], opening: Sequence[Event]) -> None:
        super().__init__(scripts, opening)
        self._world = world

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        for event in super().reply(request, cancel):
            self._world.now += _TICK_S
            yield event


@contextlib.contextmanager
def world(patch: pytest.MonkeyPatch) -> Iterator[World]:
    """An empty one with pinned clocks and ids; the folder's name has the same length everywhere."""
    folder = Path(tempfile.mkdtemp(prefix="lacli-", dir="/tmp"))
    try:
        made = World(folder, patch)
        made.site.mkdir()
        patch.chdir(made.site)
        patch.setenv("LACLI_HOME", str(folder / "home"))
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", str(WIDTH))
        patch.setenv("TZ", "UTC")
        patch.setenv("HF_HOME", str(folder / "home" / "hub"))
        patch.setenv("EDITOR", "true")
        patch.delenv("COLORTERM", raising=False)
        time.tzset()
        numbers = iter(range(0xA1, 0xFF))
        patch.setattr("secrets.token_hex", lambda count: f"{next(numbers):02x}" * count)
        patch.setattr("time.time", lambda: made.now)
        patch.setattr("time.time_ns", lambda: int(made.now * 1e9))
        patch.setattr("time.monotonic", lambda: made.now)
        patch.setattr("datetime.date", type("Day", (_Day,), {"now": staticmethod(lambda: made.now)}))
        from lacli.cli.terminal.markdown.page import Page

        patch.setattr(Page.__init__, "__defaults__", (lambda: made.now,))
        yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Day(datetime.date):
    now: Callable[[], float]

    @classmethod
    def today(cls) -> _Day:
        return cls.fromtimestamp(cls.now())


@dataclass
class _Screen:
    """The side a program writes to, and what came out at the other."""

    side: int
    seen: bytearray = field(default_factory=bytearray)


@contextlib.contextmanager
def _read(there: _Screen, other: int) -> Iterator[_Screen]:
    def read() -> None:
        with contextlib.suppress(OSError):  # Linux's way to say that a terminal's other side is closed
            while data := os.read(other, 1 << 16):
                there.seen += data

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield there
    finally:
        os.close(there.side)
        reader.join(10)
        os.close(other)


@contextlib.contextmanager
def _pipe() -> Iterator[_Screen]:
    other, side = os.pipe()
    with _read(_Screen(side), other) as there:
        yield there


@contextlib.contextmanager
def _terminal() -> Iterator[_Screen]:
    """A terminal that adds no CR, so that the files have the lines that the program wrote."""
    import fcntl
    import struct
    import termios

    other, side = os.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    settings = termios.tcgetattr(side)
    settings[1] &= ~termios.OPOST
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(side, termios.TCSANOW, settings)
    with _read(_Screen(side), other) as there:
        yield there


@contextlib.contextmanager
def _fed(data: bytes) -> Iterator[int]:
    """A pipe that holds these bytes and then ends."""
    side, other = os.pipe()
    os.write(other, data)
    os.close(other)
    try:
        yield side
    finally:
        os.close(side)


def files(world: World) -> None:
    """Some sources, one of them with CRLF line ends."""
    (world.site / "a.py").write_bytes(A_PY.encode())
    (world.site / "win.py").write_bytes(A_PY.replace("\n", "\r\n").encode())
    (world.site / "notes.md").write_text("# Notes\n\n```sh\nlacli ask hi\n```\n")


def remotes(world: World) -> None:
    """A remote in the user's configuration, which no case asks anything."""
    config = world.folder / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[remotes.gpu]\nurl = "http://192.0.2.1:8000"\nmodel = "coder"\n', encoding="utf-8")


def instructions(world: World) -> None:
    """What the project says of itself."""
    (world.site / "AGENTS.md").write_text("# Style\n\nTabs, \u202enever blanks.\n")


def log(world: World) -> None:
    """Three sessions, of which two are of this project."""
    from lacli.sessions.store import SessionStore, path

    counts = Counts(1, 40, 16, 39, 60, 24, {"project": 60}, {"project": 24}, 80, 5.0, 800.0, 1200.0)
    store = SessionStore(path())
    first = store.begin("chat", world.site, "smollm2-135m", "Be terse.")
    old = store.begin("ask", world.site, "smollm2-135m")
    store.append(old, turn("\x1b[31mred\x1b[0m alert", "don't", NOW - 86_400 * 20, counts=counts))
    shown = (Attachment("src/a.py", "import os\n"),)
    store.append(first, turn("What does\nos.replace do?", "It renames.", NOW - 7200, attachments=shown, counts=counts))
    store.append(first, turn("and 错题?", "half an ans", NOW - 3600, reason="cancelled", counts=counts))
    store.append(store.begin("edit", Path("/elsewhere"), "large"), turn("fix it", "done", NOW - 60, counts=counts))


def templates(world: World) -> None:
    """Two saved ones."""
    folder = world.folder / "home" / "config" / "templates"
    folder.mkdir(parents=True)
    (folder / "review.toml").write_text('prompt = "Review this as a $role: $input"\nsystem = "Be short."\n')
    (folder / "terse.toml").write_text('system = "Answer in one line."\n')


def configuration(world: World) -> None:
    """The user's file and the project's."""
    (world.folder / "home" / "config").mkdir(parents=True, exist_ok=True)
    (world.folder / "home" / "config" / "config.toml").write_text("top-p = 0.9\n\n[ask]\nmax-tokens = 64\n")
    (world.site / "lacli.toml").write_text("temperature = 0.5\n")


def mistakes(world: World) -> None:
    """A user's file with some."""
    (world.folder / "home" / "config").mkdir(parents=True)
    (world.folder / "home" / "config" / "config.toml").write_text('temperture = 0.2\ntop-p = "banana"\n')


def pool(world: World) -> None:
    """Something learned here."""
    from lacli import paths
    from lacli.pool.store import open_pool
    from lacli.pool.update import PoolUpdate
    from lacli.project.root import pool_key

    counts = Counts(1, 30, 10, 29, 50, 19, {"project": 50}, {"project": 19}, 60, 10.0, 500.0, 400.0)
    kept = open_pool(pool_key(world.site, "ab" * 32), paths.pools_dir(), "learn", 1000, "smol")
    assert kept.learn(PoolUpdate(list(range(40)), "text", totals=counts.totals()))


def measured(world: World) -> None:
    """A bench that has compared all texts."""
    from lacli.bench.divergence import Divergence
    from lacli.bench.exact import Comparison, Difference
    from tests.bench.fakes import loaded_table

    why = Divergence(1, 3, 0.0021, -0.0008, 0.0034)
    difference = Difference("edit", "inventory-rename", "warm-replay", 17, (1, 2), (3, 4), why)
    found = Comparison(2, 22, 1408, (difference,))
    world.patch.setattr("lacli.bench.exact.compare", lambda *arguments, explained: found)
    world.patch.setattr("lacli.assistant.loading.load", lambda settings, report: loaded_table())


def played(world: World) -> None:
    """A bench that has played two sessions."""
    from lacli.bench.sessions.run import Played, load_tasks

    figures = {
        **{"tokens": 40, "tokens_per_step": 2.0, "rows_per_step": 8.0, "ratio_to_plain": 1.5},
        **{"equal_to_plain": True, "token_ids": [1], "prompt_ids": [2]},
    }
    tasks = load_tasks()
    runs = [Played(tasks[0], "kept", figures), Played(tasks[10], "kept", figures), Played(tasks[10], "empty", figures)]
    world.patch.setattr("lacli.bench.sessions.run.play_sessions", lambda *arguments: runs)


def computer(world: World) -> None:
    """PyTorch is not really looked at, and there is no graphics card."""
    world.patch.setattr("lacli.shared.health.probe_torch", lambda: {"version": "2.13.0+cpu", "cuda": False})
    world.patch.setattr("lacli.models.registry.machine.graphics_memory", lambda: None)
    world.patch.setattr("lacli.models.registry.machine.read_bandwidth", lambda free: 10e9)


def engine(world: World) -> None:
    """An engine that serves two models, one of which is at work."""
    from lacli.worker.protocol import PROTOCOL, EngineStatus, Greeting, ModelStatus

    models = (ModelStatus("smollm2-135m", 71, True, 0.0), ModelStatus("qwen2.5-coder-1.5b", 72, False, 90.0))
    found = EngineStatus(models, 1, 2, 7300.0, 600.0, "http://127.0.0.1:8012")
    world.patch.setattr("lacli.cli.serve.status.status", lambda: (Greeting(PROTOCOL, "0.1.0", 70), found))
    world.patch.setattr("lacli.cli.serve.status._memory", lambda model: model.pid * 10**7)
    world.patch.setattr("lacli.worker.endpoint.socket_path", lambda: Path("/run/user/7/lacli/engine-00c0ffee.sock"))
