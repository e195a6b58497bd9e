"""Workers to be started as processes, by `command(KIND, ARGUMENT…)`. Quick, without a model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lacli.assistant.base import Cancel, Report, ignore, never
from lacli.assistant.scripted import ScriptedAssistant
from lacli.config import Settings
from lacli.events import Event, Finished, Loading, Notice, Piece, ReplyStats, Request
from lacli.worker import protocol
from lacli.worker import server as worker
from lacli.worker.protocol import Call, Done

ROOT = Path(__file__).resolve().parents[2]
TEXT = "some words and more "
GREETING = f'{{"type":"greeting","protocol":{protocol.PROTOCOL}}}'


class Quick(ScriptedAssistant):
    """Says the same again and again."""

    def __init__(self) -> None:
        super().__init__([TEXT] * 1000)


class Slow(Quick):
    """A step every few milliseconds, for ever."""

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        count = 0
        while not cancel():
            time.sleep(0.003)
            count += 1
            yield Piece("x", ("",), ReplyStats(predicted_n=count))
        yield Finished("x" * count, tuple(range(count)), "cancelled", ReplyStats(predicted_n=count))


class Beside(Slow):
    """The same for several at once. One asked for a number of steps takes those."""

    def __init__(self, places: int) -> None:
        super().__init__()
        self._places = places

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        asked = request.messages[0].text if request.messages else ""
        if not asked.isdigit():
            yield from super().reply(request, cancel)
            return
        for count in range(int(asked)):
            time.sleep(0.001)
            yield Piece("x", ("",), ReplyStats(predicted_n=count + 1))
        yield Finished("x" * int(asked), tuple(range(int(asked))), "stop", ReplyStats(predicted_n=int(asked)))


class Silent(Quick):
    """Says nothing at all until it is cancelled."""

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        while not cancel():
            time.sleep(0.001)
        yield Finished("", (), "cancelled", ReplyStats())


class Prints(Quick):
    """A library that talks, and that starts programs which talk and ask."""

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        print("library: hello", flush=True)
        os.write(1, b'{"type":"done","id":1}\nno end')
        asks = "import sys; print('program: got', repr(sys.stdin.read())); print('!', file=sys.stderr)"
        subprocess.run([sys.executable, "-c", asks], check=True)
        for number in range(10_000):
            print(f"line {number}")
        yield from super().reply(request, cancel)


class Loads(Quick):
    """Is long in preparing, and tells of it."""

    def open(self, report: Report = ignore) -> None:
        for done in range(100_000):
            report(Loading("prepare", done, 100_000))
            time.sleep(0.005)


class Tells(Quick):
    """Has something to say of the model when it is opened."""

    def open(self, report: Report = ignore) -> None:
        report(Loading("load"))
        report(Notice("it is small"))


class Enters(Quick):
    """Says which folder it works for."""

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        told = [each.folder.name for each in self.entered if each.folder is not None]
        yield Finished(",".join(told), (1,), "stop", ReplyStats())


class Reads(Quick):
    """Reads ahead for ever, until it is told to stop."""

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        while not cancel():
            time.sleep(0.001)


class Stuck(Quick):
    """Is long in an import, of which nothing can be told."""

    def open(self, report: Report = ignore) -> None:
        report(Loading("load"))
        time.sleep(600)


class Saves(Slow):
    """Leaves a file when a reply has ended, and one when it is closed."""

    folder = Path()

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        try:
            yield from super().reply(request, cancel)
        finally:
            time.sleep(0.2)
            (self.folder / "saved").touch()

    def close(self) -> None:
        (self.folder / "closed").touch()


class Dies(Quick):
    """Ends in the middle of a reply, in the way it is told."""

    how = ""

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        yield Piece("x", ("",), ReplyStats(predicted_n=1))
        if self.how == "abort":
            os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
            os.abort()
        elif self.how == "exit":
            print("the last\nwords", file=sys.stderr, flush=True)
            os._exit(3)
        elif self.how == "segv":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif self.how == "memory":
            bytearray(1 << 62)
        elif self.how == "orphan":  # which holds on to stderr
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3)"])
            os._exit(4)


class Learns(Quick):
    """Teaches the project's pool something with every reply, as the real one does, and tells when it begins to."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        from lacli import paths
        from lacli.pool.store import open_pool
        from lacli.project.root import pool_key

        self.pool = open_pool(pool_key(folder, "0123456789abcdef" * 4), paths.pools_dir(), "learn", 50_000)
        assert self.pool.learns, self.pool.notices

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        import numpy as np

        from lacli.pool.update import PoolUpdate, TableRows

        for number in range(100_000):
            seed = np.random.default_rng(number)
            ids = seed.integers(0, 50_000, 40).tolist()
            keys = seed.integers(0, 50_000, (5, 2), dtype=np.uint32)
            table = TableRows(keys, np.full((5, 8), number % 50_000, np.uint32), np.zeros((5, 8), np.uint8))
            assert self.pool.learn(PoolUpdate(ids, table=table, totals={"replies": 1})), self.pool.notices
            yield Piece("x", ("",), ReplyStats(predicted_n=number + 1))
            if cancel():
                break
        yield Finished("", (), "cancelled", ReplyStats())


class Echo(ScriptedAssistant):
    """Says as JSON who asked what of whom: a step of nothing, then one of everything."""

    def __init__(self, settings: Settings) -> None:
        super().__init__([])
        self._loaded, self._entered = settings, settings

    def enter(self, settings: Settings) -> None:
        assert settings.of_model == self._loaded.of_model
        self._entered = settings

    def open(self, report: Report = ignore) -> None:
        report(Loading("load"))
        report(Notice(f"for {self._entered.folder}"))

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        entered = self._entered
        said = {"pid": os.getpid(), "model": entered.model, "folder": str(entered.folder), "learn": entered.learn}
        text = json.dumps(said | {"asked": request.messages[-1].text if request.messages else ""})
        yield Piece("", ("",), ReplyStats(predicted_n=1))
        yield Piece(text, ("",), ReplyStats(predicted_n=2))
        yield Finished(text, (1, 2), "stop", ReplyStats(predicted_n=2))


def command(kind: str, *arguments: str) -> list[str]:
    """What starts one."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.worker import worker_child as child; "
    return [sys.executable, "-P", "-c", f"{start}sys.exit(child.main(*sys.argv[1:]))", kind, *arguments]


def main(kind: str, *arguments: str) -> int:
    if kind == "instant":
        print(GREETING, flush=True)
        for line in protocol.read_lines(sys.stdin.buffer):
            message = protocol.parse_call(line)
            if isinstance(message, Call):
                os.write(1, protocol.encode(Done(message.id)))
        return 0
    if kind == "deaf":
        if hasattr(signal, "SIGTERM"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print(GREETING, flush=True)
        time.sleep(600)
    if kind == "babbles":
        print(GREETING + "\nSegmentation fault?", flush=True)
        time.sleep(600)
    if kind == "torn":
        print(GREETING + '\n{"type":"event","id":1,"ev', end="", flush=True)
        os._exit(9)
    if kind == "later":
        print('{"type":"greeting","protocol":99}', flush=True)
        time.sleep(600)
    if kind == "refuses":
        print("Traceback: no module named torch", file=sys.stderr)
        return 1
    made: dict[str, Any] = {
        "quick": Quick,
        "slow": Slow,
        "beside": lambda: Beside(3),  # two chats and a completion
        "many": lambda: Beside(6),
        "silent": Silent,
        "prints": Prints,
        "loads": Loads,
        "enters": Enters,
        "stuck": Stuck,
        "tells": Tells,
        "reads": Reads,
    }
    if kind in ("saves", "dies", "learns"):
        (argument,) = arguments
        Saves.folder, Dies.how = Path(argument), argument
        made |= {"saves": Saves, "dies": Dies, "learns": lambda: Learns(Path(argument))}
    return worker.run(lambda settings: Echo(settings) if kind == "echo" else made[kind]())
