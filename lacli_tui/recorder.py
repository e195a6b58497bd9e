"""Saving what is said, in a thread of its own: a disk that is slow, or held by another program, holds up no key.

Calls are done one after the other. The thread ends with the program, which waits for it in `close` alone.
"""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Sequence

from lacli.chat.history import Typed, open_typed
from lacli.errors import LacliError
from lacli.events import Notice
from lacli.sessions.recorder import Recorder
from lacli.sessions.records import Session, Turn

_WAIT_S = 5.0


class AsyncRecorder:
    """A `Recorder` behind a queue."""

    def __init__(self, say: Callable[[Notice], None], keep: bool, system: str) -> None:
        """`say` is called from the thread."""
        self._recorder = Recorder("chat", say, keep, system)
        self._say = say
        self._typed = Typed(None)
        self._work: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="keeper", daemon=True).start()

    @property
    def id(self) -> str:
        """Of the session that is being kept; empty until a turn is."""
        return self._recorder.id

    def keep(self, turn: Turn, model: str, replaces: bool = False) -> None:
        """Keep a turn, or put it in the place of the last one."""
        self._do(self._recorder.keep, turn, model, replaces)

    def undo(self) -> None:
        """Take the last turn away."""
        self._do(self._recorder.undo)

    def describe(self, system: str) -> None:
        """The system message was changed."""
        self._do(self._recorder.describe, system)

    def leave(self, turns: Sequence[Turn] = (), model: str = "") -> None:
        """What is said from now on is another session, which begins with these turns; `follow` may come back here."""
        self._do(self._recorder.leave, tuple(turns), model)

    def follow(self, change: str, turns: Sequence[Turn], before: int, model: str) -> None:
        """What was taken back of the conversation is taken back in the log, too."""
        self._do(self._recorder.follow, change, turns, before, model)

    def resume(self, session: Session) -> None:
        """Add to a session that was read."""
        self._do(self._recorder.resume, session)

    def new(self) -> None:
        """Begin another session with the next turn, and do not come back to this one."""
        self._do(self._recorder.new)

    def history(self, keep: bool) -> list[str]:
        """What was typed before, the oldest first; what is typed from now on is kept with it."""
        try:
            self._typed = open_typed(keep)
        except (OSError, LacliError):
            self._say(Notice("what is typed here is not remembered: the state folder cannot be written"))
        return self._typed.load()

    def remember_typed(self, text: str) -> None:
        """This was typed."""
        self._do(lambda: self._typed.store(text))

    def close(self) -> None:
        """Wait, not for ever, until all is kept."""
        done = threading.Event()
        self._do(done.set)
        done.wait(_WAIT_S)

    def _do(self, what: Callable[..., object], *given: object) -> None:
        self._work.put(functools.partial(what, *given))

    def _run(self) -> None:
        while True:
            work = self._work.get()
            try:
                work()
            except Exception as error:  # a mistake of ours must not keep what follows from being kept
                self._say(Notice(f"{type(error).__name__}: {error}; something said is not kept", "warning"))
