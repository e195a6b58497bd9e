"""The front end's half of the engine in a process of its own: a `Replier` whose model lives in a child.

Never imports torch. The child is started by the first call, and again by the next call after it has died; see
`protocol` for what is said and `worker` for the other half. Safe to close from another thread than the one that is in a
call.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import IO, cast

import lacli
from lacli.assistant.base import Cancel as Cancelled
from lacli.assistant.base import Report, ignore, never
from lacli.config import Settings
from lacli.errors import SMALLER, LacliError, WorkerDied
from lacli.events import Event, Notice, Preview, Request
from lacli.worker import protocol
from lacli.worker.protocol import Call, Cancel, Damaged, Done, Greeting, Hello, Problem, Said

_POLL_S = 0.02
"""How often `cancel` is asked while nothing comes."""
_ASK_S, _TERMINATE_S, _THREAD_S = 2.0, 0.5, 0.2
"""What closing gives the child to end when asked, and when told; and a thread whose pipe others may hold open."""
_EXIT_S = 10.0
"""For a process that says nothing more to end, too."""
_SAID_BYTES = 4096

_Came = Said | Done | Problem | WorkerDied


class WorkerAssistant:
    """See `scripted.Replier`. `command` starts another engine than ours."""

    def __init__(self, settings: Settings, command: Sequence[str] | None = None) -> None:
        # A child that is started later must look where this one would, wherever the user has gone meanwhile.
        self._settings = replace(settings, folder=(settings.folder or Path()).absolute())
        self._command = tuple(command or own_command())
        self._child: _Child | None = None
        self._starting = threading.Lock()
        self._numbers = itertools.count(1)
        self._unsaid: list[Notice] = []

    @property
    def pid(self) -> int | None:
        """Of the child, while there is one."""
        child = self._child
        return child.pid if child is not None and child.died is None else None

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`. A report that raises cancels it."""
        with closing(self._events("open")) as events:
            for event in events:
                if not isinstance(event, Done):
                    report(event)

    def reply(self, request: Request, cancel: Cancelled = never) -> Iterator[Event]:
        """See `Replier.reply`. Raises WorkerDied where the child does not live to finish it."""
        with closing(self._events("reply", request, cancel)) as events:
            for event in events:
                if not isinstance(event, Done):
                    yield event

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """See `Replier.preview`."""
        with closing(self._events("preview", request)) as events:
            for event in events:
                if not isinstance(event, Done):
                    report(event)
                elif event.preview is not None:
                    return event.preview
        raise LacliError("the engine gave no preview")

    def warm(self, request: Request, cancel: Cancelled = never) -> None:
        """See `Replier.warm`."""
        with closing(self._events("warm", request, cancel)) as events:
            for event in events:
                if isinstance(event, Notice):  # nobody is listening: for the next call that has a reader
                    self._unsaid.append(event)

    def close(self) -> None:
        """See `Replier.close`. Waits for the child no longer than a few seconds."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def _events(
        self, what: str, request: Request | None = None, cancel: Cancelled = never
    ) -> Generator[Event | Done, None, None]:
        """What comes of one call, `Done` last; closing it cancels the call."""
        child = self._started()
        if what != "warm":
            said, self._unsaid = self._unsaid, []
            yield from said
        with child.call(Call(next(self._numbers), what, request or Request())) as call:
            while True:
                if cancel():
                    call.cancel()
                came = call.next()
                if isinstance(came, Said):
                    yield came.event
                elif isinstance(came, Done):
                    call.ended = True
                    yield came
                    return
                elif isinstance(came, Problem):
                    call.ended = True
                    raise came.error()
                elif came is not None:
                    call.ended = True
                    self._let_go(child)
                    raise came

    def _let_go(self, child: _Child) -> None:
        """Of one that died, whose death has been told."""
        with self._starting:
            if self._child is child:
                self._child = None

    def _started(self) -> _Child:
        """The child, a new one where it has died; of one that died while nothing was asked of it there is a notice."""
        with self._starting:
            if self._child is not None and self._child.died is not None:
                self._unsaid.append(Notice(f"{self._child.died.message}; a new one was started", "warning"))
                self._child = None
            if self._child is None:
                self._child = _Child(self._command, self._settings)
            return self._child


def own_command() -> list[str]:
    """What starts our worker: this Python and this lacli, whatever lies in the current folder."""
    root = str(Path(lacli.__file__).resolve().parents[1])
    start = (
        f"import sys; {root!r} in sys.path or sys.path.insert(0, {root!r}); "
        "from lacli.worker.server import main; sys.exit(main())"
    )
    return [sys.executable, "-P", "-c", start, "lacli.worker.server"]


class _Child:
    """One process, and threads: one writes to it, one reads its answers, one what it has to say besides.

    Without locks: a generator that nobody holds any more may cancel its call from inside any of these methods.
    """

    def __init__(self, command: Sequence[str], settings: Settings) -> None:
        """Raises LacliError where no process can be had."""
        self.died: WorkerDied | None = None
        """Why it is there no longer."""
        self._asked_to_end = False
        self._calls: dict[int, queue.SimpleQueue[_Came]] = {}
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._said = b""
        self._unreadable = ""
        self._kills = _kills_for_memory()
        # A group of its own: what the keyboard sends to the front end's does not reach it.
        group = {"process_group": 0} if sys.platform != "win32" else {"creationflags": _NEW_GROUP}
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=_folder(settings),
                **group,
            )
        except OSError as error:
            raise LacliError(f"the engine's process cannot be started: {error.strerror or error}") from error
        self.pid: int = self._process.pid
        self._outbox.put(protocol.line(Hello(protocol.PROTOCOL, settings)))
        self._listening, self._overhearing, self._writing = (
            threading.Thread(target=work, name=f"engine {self.pid}", daemon=True)
            for work in (self._listen, self._overhear, self._write)
        )
        for thread in (self._listening, self._overhearing, self._writing):
            thread.start()

    def call(self, call: Call) -> _Calling:
        """Ask for it; what comes is the result's to read."""
        self._outbox.put(protocol.line(call))
        waiting: queue.SimpleQueue[_Came] = queue.SimpleQueue()
        self._calls[call.id] = waiting
        if self.died is not None:  # perhaps after everyone who waited was told so
            waiting.put(self.died)
        return _Calling(self, call.id, waiting)

    def cancel(self, call: int) -> None:
        self._outbox.put(protocol.line(Cancel(call)))

    def forget(self, call: int) -> None:
        """Whatever else comes of it has no reader."""
        self._calls.pop(call, None)

    def close(self) -> None:
        """Ask it to end, insist after a while; when this returns there is no such process."""
        self._asked_to_end = True
        self._outbox.put(None)
        self._wait(_ASK_S)
        if self._process.poll() is None:
            self._process.terminate()
            self._wait(_TERMINATE_S)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for thread in (self._listening, self._overhearing, self._writing):
            thread.join(_THREAD_S)

    def _wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def _write(self) -> None:
        """Write what is asked, to the end of the stream; that nobody reads it is found out by who listens."""
        stdin = cast(io.RawIOBase, self._process.stdin)
        with stdin:
            while (line := self._outbox.get()) is not None:
                rest = memoryview(line)
                with contextlib.suppress(OSError):
                    while rest:
                        rest = rest[stdin.write(rest) or 0 :]

    def _listen(self) -> None:
        """Pass on what is said until that ends, and tell every call that waits for more how the process ended."""
        try:
            self._hear()
        except Exception as error:  # whatever it is, nobody may wait for ever
            self._unreadable = f"{type(error).__name__}: {error}"
        if not self._unreadable:
            self._wait(_EXIT_S)
        if self._process.poll() is None:
            self._process.kill()
        status = self._process.wait()
        self._outbox.put(None)
        self._overhearing.join(_THREAD_S)  # its last words are in the pipe, unless a process of its own holds that
        self.died = self._death(status)
        for waiting in list(self._calls.values()):
            waiting.put(self.died)

    def _hear(self) -> None:
        stdout = cast(io.RawIOBase, self._process.stdout)
        with io.BufferedReader(stdout, 1 << 16) as stream:
            for found in protocol.lines(stream):
                told = protocol.told(found)
                if not found.endswith(b"\n") and len(found) < protocol.MOST_BYTES:
                    return  # it died while it said that
                if isinstance(told, Damaged):
                    self._unreadable = told.why
                elif isinstance(told, Greeting):
                    if told.protocol != protocol.PROTOCOL:
                        self._unreadable = f"it speaks version {told.protocol} of the protocol, not {protocol.PROTOCOL}"
                elif isinstance(told, Problem) and told.id is None:
                    self._unreadable = told.message
                else:
                    self._pass_on(told)
                if self._unreadable:
                    return

    def _pass_on(self, told: Said | Done | Problem) -> None:
        waiting = self._calls.get(told.id or 0)
        if waiting is not None:
            waiting.put(told)

    def _overhear(self) -> None:
        """Keep the last of what it writes to its stderr."""
        stderr = cast(IO[bytes], self._process.stderr)
        with stderr, contextlib.suppress(OSError, ValueError):
            while some := stderr.read(_SAID_BYTES):
                self._said = (self._said + some)[-_SAID_BYTES:]

    def _death(self, status: int) -> WorkerDied:
        said = self._said.decode(errors="replace")
        if self._asked_to_end:
            return WorkerDied("the engine was closed", said=said)
        if self._unreadable:
            again = "lacli may have been changed while it ran: leave it and start it again"
            return WorkerDied(
                f"the engine's process cannot be understood: {self._unreadable}", again, said, again=False
            )
        name = _signal_name(-status) if status < 0 else ""
        killed = name == "SIGKILL"
        kills = _kills_for_memory()
        if self._kills is None or kills is None:
            maybe, short = "; the system does so where memory runs out", False
        else:
            maybe, short = "", kills > self._kills
        if short if killed else _no_memory(said):
            return WorkerDied("the engine's process ended as memory ran out", SMALLER, said)
        if killed:
            hint = f"nothing but the rest of that reply is lost{maybe}"
            return WorkerDied("the engine's process was killed (SIGKILL)", hint, said)
        what = f"by signal {name}" if name else f"with exit code {status}"
        return WorkerDied(f"the engine's process ended {what}", _last_line(said), said)


class _Calling:
    """A call at work, as a with block: whoever leaves it early wants nothing more of it."""

    def __init__(self, child: _Child, number: int, waiting: queue.SimpleQueue[_Came]) -> None:
        self.ended = False
        self._child = child
        self._number = number
        self._waiting = waiting
        self._cancelled = False

    def next(self) -> _Came | None:
        """What came next; None where nothing did for a moment."""
        try:
            return self._waiting.get(timeout=_POLL_S)
        except queue.Empty:
            return None

    def cancel(self) -> None:
        """Say, once, that it is no longer wanted."""
        if not self._cancelled:
            self._cancelled = True
            self._child.cancel(self._number)

    def __enter__(self) -> _Calling:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.forget(self._number)
        if not self.ended:
            self.cancel()


def _folder(settings: Settings) -> Path | None:
    """Where the child is to begin: here, or in the folder it works for, where this one is gone. Raises LacliError."""
    folder = settings.folder or Path()
    try:
        if folder.is_dir():
            return None if Path.cwd().is_dir() else folder
    except OSError:  # of the current folder
        return folder
    raise LacliError(f"the folder {folder} is not there any more", "put it back, or start lacli in another folder")


_NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)


def _kills_for_memory() -> int | None:
    """How many processes the system has ended since it started as memory ran out; None where it does not tell."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def _no_memory(said: str) -> bool:
    """Whether the last words are those of libraries that end the process when memory runs out."""
    return any(each in said for each in ("bad_alloc", "MemoryError", "out of memory", "Cannot allocate memory"))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f"its last words: {lines[-1]}" if lines else ""
