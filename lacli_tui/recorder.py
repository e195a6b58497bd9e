"""Saves the chat in a thread, so that a slow disk, or one that another program holds, delays no key.

Changes are saved one after the other. The thread is a daemon; only `close` waits for it.
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
    """A `Recorder` behind a queue: the protocol `lacli.chat.recording.Recording`."""

    def __init__(self, notify: Callable[[Notice], None], keep: bool, system: str) -> None:
        """`notify` is called from the thread."""
        self._recorder = Recorder("chat", notify, keep, system)
        self._notify = notify
        self._typed = Typed(None)
        self._work: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="keeper", daemon=True).start()

    @property
    def id(self) -> str:
        """The id of the session being recorded; empty until it has a turn."""
        return self._recorder.id

    def keep(self, turn: Turn, model: str, replaces: bool = False) -> None:
        self._queue_up(self._recorder.keep, turn, model, replaces)

    def undo(self) -> None:
        self._queue_up(self._recorder.undo)

    def describe(self, system: str) -> None:
        self._queue_up(self._recorder.describe, system)

    def leave(self, turns: Sequence[Turn] = (), model: str = "") -> None:
        self._queue_up(self._recorder.leave, tuple(turns), model)

    def follow(self, change: str, turns: Sequence[Turn], before: int, model: str) -> None:
        self._queue_up(self._recorder.follow, change, turns, before, model)

    def resume(self, session: Session) -> None:
        self._queue_up(self._recorder.resume, session)

    def new(self) -> None:
        self._queue_up(self._recorder.new)

    def history(self, keep: bool) -> list[str]:
        """What was typed before, the oldest first; what is typed from now on is added to it."""
        try:
            self._typed = open_typed(keep)
        except (OSError, LacliError):
            self._notify(Notice("what is typed here is not remembered: the state folder cannot be written"))
        return self._typed.load()

    def remember_typed(self, text: str) -> None:
        self._queue_up(lambda: self._typed.store(text))

    def close(self) -> None:
        """Wait, but not for ever, until everything is saved."""
        done = threading.Event()
        self._queue_up(done.set)
        done.wait(_WAIT_S)

    def _queue_up(self, what: Callable[..., object], *given: object) -> None:
        self._work.put(functools.partial(what, *given))

    def _run(self) -> None:
        while True:
            work = self._work.get()
            try:
                work()
            except Exception as error:  # a mistake of ours must not keep what follows from being kept
                self._notify(Notice(f"{type(error).__name__}: {error}; something said is not kept", "warning"))
