"""The engine as a process of its own: `python -P -m lacli.worker.server`. Speaks `protocol` on its stdin and stdout.

Started by `worker_client` (the TUI), so that a front end neither waits for torch nor dies with it. Writes no words for
people: what it and the libraries below it print, on stdout too, goes to stderr, which its parent keeps for a report.

One thread decodes and writes; another reads, so that a cancel, and the end of the front end, reach the decoder between
two steps. Ctrl-C and a terminal that closes are the front end's business and ignored here. When the front end is gone
the step is finished, what was accepted is in the pool, and the process ends with status 0.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import BinaryIO

import lacli
from lacli.assistant.base import Cancel as Cancelled
from lacli.assistant.base import Replier
from lacli.config import Settings
from lacli.errors import SMALLER, LacliError, OutOfMemory
from lacli.events import Event, Finished, ReplyStats, Request
from lacli.worker import protocol
from lacli.worker.protocol import Call, Cancel, Close, Damaged, Done, Greeting, Hello, Problem, Said, Told

_SAVING_S = 10.0
"""For the step at work and for saving, once the front end is gone."""
_LEAVING_S = 1.0
"""The same where nothing is to be saved: an import, the preparing of a model."""

Ended = Callable[[float], None]


class _Cancelled(BaseException):
    """Out of whatever is loading; no library may take it for a failure of its own."""


class _Gone(BaseException):
    """Nobody reads any more; for the same reason no ordinary exception."""


class Serving:
    """One front end, from its greeting to its end."""

    def __init__(self, writer: BinaryIO) -> None:
        self._writer = writer
        self._asked: SimpleQueue[Hello | Call | Damaged | None] = SimpleQueue()
        self._known: set[int] = set()
        """Calls that came and have not ended."""
        self._cancelled: set[int] = set()
        self._closing = False
        self._opened = False
        self._writes = False
        """Whether there is a reply at work."""

    def listen(self, reader: BinaryIO, ended: Ended) -> None:
        """Take what the front end says until it closes; for a thread of its own."""
        try:
            for found in protocol.lines(reader):
                asked = protocol.asked(found)
                if isinstance(asked, Close):
                    break
                if isinstance(asked, Cancel):
                    if asked.id in self._known:
                        self._cancelled.add(asked.id)
                    continue
                if isinstance(asked, Call):
                    self._known.add(asked.id)
                self._asked.put(asked)
        except (OSError, ValueError):  # the stream broke: the same as its end
            pass
        finally:
            self._closing = True
            self._asked.put(None)
            ended(_SAVING_S if self._writes else _LEAVING_S)

    def work(self, assistant: Callable[[Settings], Replier]) -> None:
        """Greet, and do what is asked until the front end is gone."""
        with contextlib.suppress(_Gone):
            self._tell(Greeting(protocol.PROTOCOL, lacli.__version__, os.getpid()))
            hello = self._asked.get()
            while isinstance(hello, Damaged):
                self._tell(hello.problem())
                hello = self._asked.get()
            if not isinstance(hello, Hello) or hello.protocol != protocol.PROTOCOL:
                return
            with contextlib.closing(assistant(hello.settings)) as replier:
                while (asked := self._asked.get()) is not None and not self._closing:
                    if isinstance(asked, Call):
                        self._do(asked, replier)
                    elif isinstance(asked, Damaged):
                        self._tell(asked.problem())

    def _do(self, call: Call, replier: Replier) -> None:
        """One call, to its `done` or `problem`."""
        try:
            end: Told = self._done(call, replier)
        except LacliError as error:
            end = Problem.of(error, call.id)
        except MemoryError:
            end = Problem.of(OutOfMemory("the engine is out of memory", SMALLER), call.id)
        except Exception as error:
            traceback.print_exc()
            first = str(error).splitlines()[:1]
            what = ": ".join([type(error).__name__, *first])
            end = Problem.of(LacliError(f"the engine failed: {what}", "this is a mistake in lacli"), call.id)
        self._known.discard(call.id)
        self._cancelled.discard(call.id)
        self._tell(end)

    def _done(self, call: Call, replier: Replier) -> Done:
        def say(event: Event) -> None:
            self._tell(Said(call.id, event))

        def wanted(event: Event) -> None:
            """While something is loaded a report is the one place where it can be left."""
            if cancel():
                raise _Cancelled
            say(event)

        def cancel() -> bool:
            return self._closing or call.id in self._cancelled

        try:
            if call.what == "preview":
                return Done(call.id, replier.preview(call.request, wanted))
            if call.what not in protocol.CALLS:
                raise LacliError(f"the engine knows no call '{call.what}'", f"one of {', '.join(protocol.CALLS)}")
            if not self._opened and (call.what != "reply" or call.request.max_tokens > 0):  # none needs no model
                replier.open(wanted)
                self._opened = True
            if call.what == "warm":
                replier.warm(call.request, cancel)
            elif call.what == "reply":
                with self._reply(replier, call.request, cancel) as events:
                    for event in events:
                        say(event)
        except _Cancelled:
            if call.what == "reply":
                say(Finished("", (), "cancelled", ReplyStats(replies=0, finish_reason="cancelled")))
        return Done(call.id)

    @contextlib.contextmanager
    def _reply(self, replier: Replier, request: Request, cancel: Cancelled) -> Iterator[Iterator[Event]]:
        """A reply's events; however they are left, the iterator is closed here, as that saves what was accepted."""
        self._writes = True
        events = replier.reply(request, cancel)
        try:
            yield events
        finally:
            close = getattr(events, "close", None)
            if close is not None:
                close()
            self._writes = False

    def _tell(self, told: Told) -> None:
        try:
            self._writer.write(protocol.line(told))
            self._writer.flush()
        except (OSError, ValueError):
            raise _Gone from None


def serve(
    assistant: Callable[[Settings], Replier],
    reader: BinaryIO,
    writer: BinaryIO,
    ended: Ended = lambda seconds: None,
) -> None:
    """Serve one front end over these streams until it closes, with an assistant of the settings it greets with.

    `ended` is called in another thread as soon as the front end is gone, with the seconds that saving may still take.
    """
    serving = Serving(writer)
    threading.Thread(target=serving.listen, args=(reader, ended), name="requests", daemon=True).start()
    serving.work(assistant)


def run(assistant: Callable[[Settings], Replier]) -> int:
    """Serve the process that started this one; the exit status."""
    for name in ("SIGINT", "SIGHUP", "SIGQUIT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    reader, writer = _private_streams()
    faulthandler.enable()
    serve(assistant, reader, writer, _end_soon)
    return 0


def main() -> int:
    """The real thing."""
    from lacli.assistant.assistant import Assistant

    return run(Assistant)


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Stdin and stdout for the protocol alone: from now on 0 is empty and 1 is stderr, here and in what is started."""
    reader, writer = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return os.fdopen(reader, "rb"), os.fdopen(writer, "wb")


def _end_soon(seconds: float) -> None:
    """What cannot be left, as an import or one long forward, must not outlive the front end for long."""
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    sys.exit(main())
