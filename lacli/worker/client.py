"""An assistant whose model lives in a worker process: the front end's half of `protocol`.

Never imports torch. The process is started by the first call, and again by the first call after it has died. Nothing
here polls: a call sleeps until the worker answers or dies, and a cancel is sent by the thread that cancels. Safe to
close from another thread than the one that is inside a call.
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
from lacli.assistant.base import Cancel, Report, ignore, never
from lacli.assistant.cancel import CancelToken
from lacli.config import Settings
from lacli.errors import SMALLER, LacliError, UsageError, WorkerDied
from lacli.events import Event, Notice, Preview, Request
from lacli.worker import protocol
from lacli.worker.protocol import (
    Call,
    CancelCall,
    ClientMessage,
    Done,
    ErrorMessage,
    EventMessage,
    Greeting,
    Hello,
    InvalidLine,
)

_PREDICATE_S = 0.1
"""How often a cancel that is a plain function, to which nobody can subscribe, is asked while nothing arrives."""
_CLOSE_S, _TERMINATE_S, _JOIN_S = 2.0, 0.5, 0.2
"""How long `close` waits after asking the worker to end, after terminating it, and for each thread."""
_EXIT_S = 10.0
"""How long a worker that has closed its output may take to exit."""
_STDERR_BYTES = 4096

_Answer = EventMessage | Done | ErrorMessage | WorkerDied


class WorkerAssistant:
    """See `base.Replier`. `command` starts another worker than ours."""

    def __init__(self, settings: Settings, command: Sequence[str] | None = None) -> None:
        # A process that is started later must look where this one would, wherever the user has gone meanwhile.
        self._settings = replace(settings, folder=(settings.folder or Path()).absolute())
        self._command = tuple(command or own_command())
        self._process: _WorkerProcess | None = None
        self._process_lock = threading.Lock()
        self._call_ids = itertools.count(1)
        self._pending_notices: list[Notice] = []
        """For the next call that has a reader."""

    @property
    def pid(self) -> int | None:
        """The worker's process id while it lives."""
        process = self._process
        return process.pid if process is not None and process.death is None else None

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`. A report that raises cancels it."""
        with closing(self._call("open")) as events:
            for event in events:
                if not isinstance(event, Done):
                    report(event)

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`. Raises WorkerDied if the worker dies before the reply is finished."""
        with closing(self._call("reply", request, cancel)) as events:
            for event in events:
                if not isinstance(event, Done):
                    yield event

    def preview(self, request: Request, report: Report = ignore) -> Preview:
        """See `Replier.preview`."""
        with closing(self._call("preview", request)) as events:
            for event in events:
                if not isinstance(event, Done):
                    report(event)
                elif event.preview is not None:
                    return event.preview
        raise LacliError("the engine gave no preview")

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """See `Replier.warm`."""
        with closing(self._call("warm", request, cancel)) as events:
            for event in events:
                if isinstance(event, Notice):
                    self._pending_notices.append(event)

    def enter(self, settings: Settings) -> None:
        """See `ProjectReplier.enter`. The worker is told with its next call."""
        if settings.of_model != self._settings.of_model:
            raise UsageError("this engine has another model", "start one for it")
        self._settings = replace(settings, folder=(settings.folder or Path()).absolute())

    def close(self) -> None:
        """See `Replier.close`. Waits a few seconds at most for the worker to end by itself."""
        with self._process_lock:
            process, self._process = self._process, None
        if process is not None:
            process.close()

    def _call(
        self, what: str, request: Request | None = None, cancel: Cancel = never
    ) -> Generator[Event | Done, None, None]:
        """The events of one call, `Done` last; closing the generator cancels the call."""
        process = self._ensure_started()
        if what != "warm":
            notices, self._pending_notices = self._pending_notices, []
            yield from notices
        with process.call(self._numbered(process, what, request)) as call, _linked(cancel, call):
            for answer in call.answers(cancel):
                if isinstance(answer, EventMessage):
                    yield answer.event
                elif isinstance(answer, Done):
                    yield answer
                elif isinstance(answer, ErrorMessage):
                    raise answer.to_error()
                else:
                    self._forget(process)
                    raise answer

    def _numbered(self, process: _WorkerProcess, what: str, request: Request | None) -> Call:
        """The call as it is sent, with the settings where they are not those that the process knows."""
        told = self._settings if process.settings != self._settings else None
        process.settings = self._settings
        return Call(next(self._call_ids), what, request or Request(), told)

    def _forget(self, process: _WorkerProcess) -> None:
        """Drop a process whose death has been reported."""
        with self._process_lock:
            if self._process is process:
                self._process = None

    def _ensure_started(self) -> _WorkerProcess:
        """The process, a new one if it has died; a death while no call was running becomes a notice."""
        with self._process_lock:
            if self._process is not None and self._process.death is not None:
                notice = Notice(f"{self._process.death.message}; a new one was started", "warning")
                self._pending_notices.append(notice)
                self._process = None
            if self._process is None:
                self._process = _WorkerProcess(self._command, self._settings)
            return self._process


def own_command() -> list[str]:
    """The command that starts our worker: this Python and this lacli, whatever lies in the current folder."""
    root = str(Path(lacli.__file__).resolve().parents[1])
    start = (
        f"import sys; {root!r} in sys.path or sys.path.insert(0, {root!r}); "
        "from lacli.worker.server import main; sys.exit(main())"
    )
    return [sys.executable, "-P", "-c", start, "lacli.worker.server"]


class _WorkerProcess:
    """One process and three threads: one writes to it, one reads its answers, one reads its stderr.

    Without locks: a generator that nobody holds any more may cancel its call from inside any of these methods.
    """

    def __init__(self, command: Sequence[str], settings: Settings) -> None:
        """Raises LacliError if the process cannot be started."""
        self.settings = settings
        """Those it was told last."""
        self.death: WorkerDied | None = None
        """Why the process has ended; None while it runs."""
        self._closing = False
        self._answers: dict[int, queue.SimpleQueue[_Answer]] = {}
        """The queue of every running call, by its id."""
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr = b""
        """The last bytes of it."""
        self._protocol_error = ""
        self._kills_before = _kills_for_memory()
        # A process group of its own: what the keyboard sends to the front end's does not reach it.
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
        self.send(Hello(protocol.PROTOCOL, settings))
        self._reader, self._stderr_reader, self._writer = (
            threading.Thread(target=work, name=f"worker {self.pid}", daemon=True)
            for work in (self._read_answers, self._read_stderr, self._write)
        )
        for thread in (self._reader, self._stderr_reader, self._writer):
            thread.start()

    def call(self, call: Call) -> _RunningCall:
        """Send a call; its answers are read from the result."""
        answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        self._answers[call.id] = answers  # before it is sent: the answer may come at once
        self.send(call)
        if self.death is not None:  # perhaps after it was told to every call
            answers.put(self.death)
        return _RunningCall(self, call.id, answers)

    def send(self, message: ClientMessage) -> None:
        """Have the message written; never waits."""
        self._outbox.put(protocol.encode(message))

    def forget(self, call_id: int) -> None:
        """Drop whatever else arrives for this call."""
        self._answers.pop(call_id, None)

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
            thread.join(_JOIN_S)

    def _wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def _write(self) -> None:
        """Write the outbox until its end; a process that does not read any more is noticed by the reader."""
        stdin = cast(io.RawIOBase, self._process.stdin)
        with stdin:
            while (line := self._outbox.get()) is not None:
                rest = memoryview(line)
                with contextlib.suppress(OSError):
                    while rest:
                        rest = rest[stdin.write(rest) or 0 :]

    def _read_answers(self) -> None:
        """Deliver answers until the stream ends, then tell every running call how the process ended."""
        try:
            self._read_messages()
        except Exception as error:  # whatever it is, no call may wait for ever
            self._protocol_error = f"{type(error).__name__}: {error}"
        if not self._protocol_error:
            self._wait(_EXIT_S)
        if self._process.poll() is None:
            self._process.kill()
        status = self._process.wait()
        self._outbox.put(None)
        self._stderr_reader.join(_JOIN_S)  # its last words are in the pipe, unless a process of its own holds that
        self.death = self._cause_of_death(status)
        for answers in list(self._answers.values()):
            answers.put(self.death)

    def _read_messages(self) -> None:
        stdout = cast(io.RawIOBase, self._process.stdout)
        with io.BufferedReader(stdout, 1 << 16) as stream:
            for line in protocol.read_lines(stream):
                message = protocol.parse_event(line)
                if not line.endswith(b"\n") and len(line) < protocol.MOST_BYTES:
                    return  # it died in the middle of this line
                if isinstance(message, InvalidLine):
                    self._protocol_error = message.reason
                elif isinstance(message, Greeting):
                    if message.protocol != protocol.PROTOCOL:
                        other = f"it speaks version {message.protocol} of the protocol, not {protocol.PROTOCOL}"
                        self._protocol_error = other
                elif isinstance(message, ErrorMessage) and message.id is None:
                    self._protocol_error = message.message
                else:
                    self.deliver(message)
                if self._protocol_error:
                    return

    def deliver(self, message: EventMessage | Done | ErrorMessage) -> None:
        """Pass an answer on to the call it belongs to, if that is still running."""
        answers = self._answers.get(message.id or 0)
        if answers is not None:
            answers.put(message)

    def _read_stderr(self) -> None:
        stderr = cast(IO[bytes], self._process.stderr)
        with stderr, contextlib.suppress(OSError, ValueError):
            while chunk := stderr.read(_STDERR_BYTES):
                self._stderr = (self._stderr + chunk)[-_STDERR_BYTES:]

    def _cause_of_death(self, status: int) -> WorkerDied:
        stderr = self._stderr.decode(errors="replace")
        if self._closing:
            return WorkerDied("the engine was closed", stderr=stderr)
        if self._protocol_error:
            hint = "lacli may have been changed while it ran: leave it and start it again"
            message = f"the engine's process cannot be understood: {self._protocol_error}"
            return WorkerDied(message, hint, stderr, again=False)
        name = _signal_name(-status) if status < 0 else ""
        killed = name == "SIGKILL"
        kills = _kills_for_memory()
        if self._kills_before is None or kills is None:
            maybe, out_of_memory = "; the system does so where memory runs out", False
        else:
            maybe, out_of_memory = "", kills > self._kills_before
        if out_of_memory if killed else _reports_no_memory(stderr):
            return WorkerDied("the engine's process ended as memory ran out", SMALLER, stderr)
        if killed:
            hint = f"nothing but the rest of that reply is lost{maybe}"
            return WorkerDied("the engine's process was killed (SIGKILL)", hint, stderr)
        how = f"by signal {name}" if name else f"with exit code {status}"
        return WorkerDied(f"the engine's process ended {how}", _last_line(stderr), stderr)


class _RunningCall:
    """A call that was sent, as a context manager: leaving it before its last answer cancels it."""

    def __init__(self, process: _WorkerProcess, call_id: int, answers: queue.SimpleQueue[_Answer]) -> None:
        self._process = process
        self._id = call_id
        self._answers = answers
        self._ended = False
        self._cancelled = False

    def answers(self, cancel: Cancel) -> Iterator[_Answer]:
        """Every answer, the last one included; sleeps in between."""
        pollable = not isinstance(cancel, CancelToken) and cancel is not never
        while not self._ended:
            if pollable and cancel():
                self.cancel()
            try:
                answer = self._answers.get(timeout=_PREDICATE_S if pollable else None)
            except queue.Empty:
                continue
            self._ended = not isinstance(answer, EventMessage)
            yield answer

    def cancel(self) -> None:
        """Tell the worker, once, that the call is no longer wanted; never waits."""
        if not self._cancelled:
            self._cancelled = True
            self._process.send(CancelCall(self._id))

    def __enter__(self) -> _RunningCall:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.forget(self._id)
        if not self._ended:
            self.cancel()


@contextlib.contextmanager
def _linked(cancel: Cancel, call: _RunningCall) -> Iterator[None]:
    """While the block runs, a cancel is sent to the worker at once, even while nothing arrives."""
    with cancel.subscribed(call.cancel) if isinstance(cancel, CancelToken) else contextlib.nullcontext():
        yield


def _folder(settings: Settings) -> Path | None:
    """Where the process starts: here, or in the folder it works for if this one is gone. Raises LacliError."""
    folder = settings.folder or Path()
    try:
        if folder.is_dir():
            return None if Path.cwd().is_dir() else folder
    except OSError:  # of the current folder
        return folder
    raise LacliError(f"the folder {folder} is not there any more", "put it back, or start lacli in another folder")


_NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)


def _kills_for_memory() -> int | None:
    """How many processes the system has killed since boot as memory ran out; None if it does not say."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def _reports_no_memory(stderr: str) -> bool:
    """Whether these are the last words of a library that aborts when memory runs out."""
    return any(each in stderr for each in ("bad_alloc", "MemoryError", "out of memory", "Cannot allocate memory"))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _last_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f"its last words: {lines[-1]}" if lines else ""
