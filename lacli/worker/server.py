"""The worker process: `python -P -m lacli.worker.server`. Speaks `protocol` on its stdin and stdout.

`client` starts it, so that a front end neither waits for torch nor dies with it. It prints nothing for people: what it
and the libraries below it print, on stdout too, goes to stderr, which its parent keeps for a report.

One thread decodes and writes; another reads, so that a cancel, the end of the front end, and calls that can be answered
beside the replies under way, reach the decoder between two steps. Ctrl-C and a terminal that closes are the front end's
business and ignored here. When the front end is gone the current step is finished, what was accepted is in the pool,
and the process exits with status 0.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import BinaryIO, TypeVar

import lacli
from lacli.assistant.base import Cancel, ServedReplier
from lacli.config import Settings
from lacli.errors import SMALLER, LacliError, OutOfMemory
from lacli.events import Event, Finished, ReplyStats
from lacli.streams import private_standard
from lacli.worker import protocol
from lacli.worker.protocol import (
    Call,
    CancelCall,
    Close,
    Done,
    ErrorMessage,
    EventMessage,
    Greeting,
    Hello,
    InvalidLine,
    Places,
    WorkerMessage,
)

_SAVING_S = 10.0
"""For the current step and for saving, once the front end is gone."""
_LEAVING_S = 1.0
"""The same where nothing needs saving: during an import, or while a model is prepared."""

_IDLE_S = 0.5
"""How long nobody must have asked for anything before something is read ahead."""

OnDisconnect = Callable[[float], None]
_Event = TypeVar("_Event")


class _CallCancelled(BaseException):
    """Leaves whatever is being loaded; no library may take it for a failure of its own."""


class _ClientGone(BaseException):
    """Nobody reads the answers any more; no ordinary exception for the same reason."""


class Connection:
    """One front end, from its greeting to its end."""

    def __init__(self, writer: BinaryIO) -> None:
        self._writer = writer
        self._incoming: SimpleQueue[Hello | Call | InvalidLine | None] = SimpleQueue()
        self._unfinished: set[int] = set()
        """Calls that have arrived and not ended."""
        self._cancelled: set[int] = set()
        self._postponed: deque[Hello | Call | InvalidLine | None] = deque()
        """What arrived during a reply and comes after it."""
        self._closing = False
        self._opened = False
        self._replying = False
        self._places = 1
        """How many replies the front end was told it may ask for at once."""
        self._together: set[int] = set()
        """Calls whose replies are written side by side."""

    def read(self, reader: BinaryIO, on_disconnect: OnDisconnect) -> None:
        """Take in messages until the front end closes; for a thread of its own."""
        try:
            for line in protocol.read_lines(reader):
                message = protocol.parse_call(line)
                if isinstance(message, Close):
                    break
                if isinstance(message, CancelCall):
                    if message.id in self._unfinished:
                        self._cancelled.add(message.id)
                    continue
                if isinstance(message, Call):
                    self._unfinished.add(message.id)
                self._incoming.put(message)
        except (OSError, ValueError):  # the stream broke: the same as its end
            pass
        finally:
            self._closing = True
            self._incoming.put(None)
            on_disconnect(_SAVING_S if self._replying else _LEAVING_S)

    def run(self, assistant: Callable[[Settings], ServedReplier]) -> None:
        """Greet, and run calls until the front end is gone."""
        with contextlib.suppress(_ClientGone):
            self._send(Greeting(protocol.PROTOCOL, lacli.__version__, os.getpid()))
            hello = self._incoming.get()
            while isinstance(hello, InvalidLine):
                self._send(hello.to_message())
                hello = self._incoming.get()
            if not isinstance(hello, Hello) or hello.protocol != protocol.PROTOCOL:
                return
            with contextlib.closing(assistant(hello.settings)) as replier:
                while (message := self._next(replier)) is not None and not self._closing:
                    if isinstance(message, Call):
                        self._run_call(message, replier)
                        if self._together:
                            self._write_together(replier)
                    elif isinstance(message, InvalidLine):
                        self._send(message.to_message())

    def _next(self, replier: ServedReplier) -> Hello | Call | InvalidLine | None:
        """Wait for the next message. After a while without one, the replier prefills for the next request."""
        if self._postponed:
            return self._postponed.popleft()
        with contextlib.suppress(Empty):
            return self._incoming.get(timeout=_IDLE_S)
        replier.read_ahead(lambda: not self._incoming.empty())
        return self._incoming.get()

    def _take_in(self, replier: ServedReplier) -> None:
        """Between two steps: answer calls that need not wait for the replies under way, and let new replies join."""
        while not self._incoming.empty():
            message = self._incoming.get()
            if isinstance(message, Call) and self._can_run_now(message):
                self._run_call(message, replier)
            else:
                self._postponed.append(message)

    def _can_run_now(self, call: Call) -> bool:
        """Whether a call runs during a reply. A call that enters a project may not overtake one that waits."""
        if call.what == "preview" and call.settings is None:
            return True
        return bool(self._together) and not self._postponed and call.what in ("open", "preview", "reply")

    def _run_call(self, call: Call, replier: ServedReplier) -> None:
        """Run one call up to its `done` or `error`; a reply that is written beside others is only begun."""
        try:
            end: Done | ErrorMessage | None = self._dispatch(call, replier)
        except Exception as error:
            end = ErrorMessage.from_error(_as_ours(error), call.id)
        if end is not None:
            self._end(call.id, end)

    def _end(self, call_id: int, end: Done | ErrorMessage) -> None:
        self._unfinished.discard(call_id)
        self._cancelled.discard(call_id)
        self._together.discard(call_id)
        self._send(end)

    def _write_together(self, replier: ServedReplier) -> None:
        """Generate all replies that have joined, until none is left."""
        try:
            with self._steps(replier.together()) as events:
                for call_id, event in events:
                    if isinstance(event, LacliError):
                        self._end(call_id, ErrorMessage.from_error(event, call_id))
                    else:
                        self._send(EventMessage(call_id, event))
                        if isinstance(event, Finished):
                            self._end(call_id, Done(call_id))
                    self._take_in(replier)
        except Exception as error:  # of what they share, such as the memory for a step
            ours = _as_ours(error)
            for call_id in tuple(self._together):
                self._end(call_id, ErrorMessage.from_error(ours, call_id))

    def _dispatch(self, call: Call, replier: ServedReplier) -> Done | None:
        """How the call has ended; None for a reply that has joined others."""

        def send(event: Event) -> None:
            self._send(EventMessage(call.id, event))

        def report(event: Event) -> None:
            """While something is loaded, a report is the only place where a cancel can be obeyed."""
            if cancel():
                raise _CallCancelled
            send(event)

        def cancel() -> bool:
            return self._closing or call.id in self._cancelled

        try:
            if call.settings is not None:
                replier.enter(call.settings)
                self._opened = False
            if call.what == "preview":
                return Done(call.id, replier.preview(call.request, report))
            if call.what not in protocol.CALLS:
                raise LacliError(f"the engine knows no call '{call.what}'", f"one of {', '.join(protocol.CALLS)}")
            needs_none = call.what == "reply" and call.request.max_tokens <= 0 and self._places == 1
            if not self._opened and not needs_none:
                replier.open(report)
                self._opened = True
                self._offer_places(replier)
            if call.what == "warm":
                replier.warm(call.request, cancel)
            elif call.what == "reply" and self._places > 1:
                replier.add(call.id, call.request, cancel)
                self._together.add(call.id)
                return None
            elif call.what == "reply":
                self._reply_alone(call, replier, cancel)
        except _CallCancelled:
            if call.what == "reply":
                send(Finished("", (), "cancelled", ReplyStats(replies=0, finish_reason="cancelled")))
        return Done(call.id)

    def _reply_alone(self, call: Call, replier: ServedReplier, cancel: Cancel) -> None:
        with self._steps(replier.reply(call.request, cancel)) as events:
            for event in events:
                self._send(EventMessage(call.id, event))
                self._take_in(replier)

    @contextlib.contextmanager
    def _steps(self, events: Iterator[_Event]) -> Iterator[Iterator[_Event]]:
        """Events of replies; the iterator is closed here however it is left, as that saves what was accepted."""
        self._replying = True
        try:
            yield events
        finally:
            close = getattr(events, "close", None)
            if close is not None:
                close()
            self._replying = False

    def _offer_places(self, replier: ServedReplier) -> None:
        """Tell the front end, once, if replies can be generated concurrently."""
        if self._places == 1 and replier.places > 1:
            self._places = replier.places
            self._send(Places(self._places))

    def _send(self, message: WorkerMessage) -> None:
        try:
            self._writer.write(protocol.encode(message))
            self._writer.flush()
        except (OSError, ValueError):
            raise _ClientGone from None


def _as_ours(error: Exception) -> LacliError:
    """What a front end is told of a failure."""
    if isinstance(error, LacliError):
        return error
    if isinstance(error, MemoryError):
        return OutOfMemory("the engine is out of memory", SMALLER)
    traceback.print_exception(error)
    what = ": ".join([type(error).__name__, *str(error).splitlines()[:1]])
    return LacliError(f"the engine failed: {what}", "this is a mistake in lacli")


def serve(
    assistant: Callable[[Settings], ServedReplier],
    reader: BinaryIO,
    writer: BinaryIO,
    on_disconnect: OnDisconnect = lambda seconds: None,
) -> None:
    """Serve one front end over these streams until it closes, with an assistant of the settings it greets with.

    `on_disconnect` is called in another thread as soon as the front end is gone, with the seconds left for saving.
    """
    connection = Connection(writer)
    threading.Thread(target=connection.read, args=(reader, on_disconnect), name="requests", daemon=True).start()
    connection.run(assistant)


def run(assistant: Callable[[Settings], ServedReplier]) -> int:
    """Serve the process that started this one. Returns the exit status."""
    for name in ("SIGINT", "SIGHUP", "SIGQUIT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    reader, writer = private_standard()
    faulthandler.enable()
    serve(assistant, os.fdopen(reader, "rb"), os.fdopen(writer, "wb"), _exit_after)
    return 0


def main() -> int:
    """Run the real assistant."""
    from lacli.assistant.assistant import Assistant

    return run(Assistant)


def _exit_after(seconds: float) -> None:
    """Something that cannot be interrupted (an import, a long forward) must not outlive the front end for long."""
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    sys.exit(main())
