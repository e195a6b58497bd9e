"""Writes the turns of a conversation to the log: `Recorder(kind, notify).turn(question, finished)`. Never raises.

Nothing is read, written or imported before the first turn. A session that another process has changed meanwhile goes
on as one of its own, which `id` then names. `--no-log` keeps nothing at all, `lacli logs off` the
numbers of `lacli stats` but no word. A log that cannot be used is one note; a conversation that goes on tries again
with its next turn, so that a log which was only held by another program misses nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.errors import LacliError
from lacli.events import Counts, Finished, Message, Notice

if TYPE_CHECKING:
    from lacli.sessions.records import Session, Turn
    from lacli.sessions.store import SessionStore

    _Change = Callable[[SessionStore, str], str]


class Recorder:
    """Records the turns of one conversation."""

    def __init__(
        self,
        kind: str,
        notify: Callable[[Notice], None],
        keep: bool = True,
        system: str = "",
        folder: Path = Path("."),
        first_id: str = "",
    ) -> None:
        """`kind` is the command's name; `notify` tells the user what cannot be kept. `folder` is one of the project,
        `first_id` an id of `store.new_id` for the first session."""
        self.id = ""
        """The session's id once it is in the log."""
        self._kind = kind
        self._notify = notify
        self._keep = keep
        self._system = system
        self._folder = folder
        self._first_id = first_id
        self._store: SessionStore | None = None
        self._resumed: list[Session] = []
        self._unwritten: list[tuple[_Change, str]] = []
        """Changes that could not be written yet, each with its session's id."""
        self._failed = False
        self._pending_id = ""
        """The id of a session of which nothing has been written yet."""
        self._written: set[str] = set()
        self._left_ids: list[str] = []
        """Ids of the sessions that were left, for `back`."""

    def resume(self, session: Session) -> None:
        """Add the following turns to a session that was read."""
        self._left_ids.clear()
        self.id = session.id
        self._pending_id = ""
        self._written.add(session.id)
        self._resumed.append(session)

    def describe(self, system: str) -> None:
        """The system message was changed: in the current session, and in those started later."""
        self._system = system
        if self.id or self._pending_id:
            self._write(lambda store, id_: store.describe(id_, system))

    def new(self) -> None:
        """Begin another session with the next turn, and do not come back to this one."""
        self._left_ids.clear()
        self.id = self._pending_id = ""

    def leave(self, turns: Sequence[Turn] = (), model: str = "") -> None:
        """Start another session with these turns, whose counts are in the log already; `back` returns to this one."""
        self._left_ids.append(self.id)
        self.id = self._pending_id = ""
        for turn in turns:
            self.keep(replace(turn, counts=Counts()), model)

    def back(self) -> None:
        """Continue the session that was left last."""
        self.id = self._left_ids.pop() if self._left_ids else ""

    def turn(self, question: Message, finished: Finished) -> None:
        """Keep a question and its reply; nothing where not a token came of it, unless the model had nothing to say."""
        from lacli.sessions.records import Turn

        if finished.text or finished.token_ids or finished.reason == "stop":
            self.keep(Turn.of(question, finished), finished.stats.model)

    def keep(self, turn: Turn, model: str, replaces: bool = False) -> None:
        """Keep a turn, or put it in the place of the last one: its question was asked again."""
        again = replaces and bool(self.id or self._pending_id)

        def change(store: SessionStore, id_: str) -> str:
            return (store.replace_last if again else store.append)(id_, turn, model)

        self._write(change, turn, model)

    def count(self, counts: Counts) -> None:
        """Record the counts of replies whose text is not recorded."""
        if not self._keep:
            return
        try:
            self._open_store().count(self._project(), counts, time.time())
        except (LacliError, OSError) as error:
            self._notify(Notice(f"{getattr(error, 'message', error)}; the numbers are not kept"))

    def undo(self) -> None:
        """Remove the last turn."""
        if self.id or self._pending_id:
            self._write(lambda store, id_: store.replace_last(id_, None))

    def follow(self, change: str, turns: Sequence[Turn], before: int, model: str) -> None:
        """Take back in the log what `Conversation.undo` says it took back: `turns` are there now, `before` were."""
        if change == "question":
            self.undo()
        elif change == "retry":
            self.keep(turns[-1], model, replaces=True)
        elif change == "back" and len(turns) == before + 1:  # of one turn, which was only taken away
            self.keep(turns[-1], model)
        elif change in ("back", "clear", "compact"):
            self.back()

    def _write(self, change: _Change, turn: Turn | None = None, model: str = "") -> None:
        """Change the session, after what waits to be written; what fails waits for the next time."""
        if not self._keep:
            return
        try:
            store = self._open_store()
            if not self._may_keep_words(store, turn):
                return
            self._pending_id = self.id or self._pending_id or self._begun(store, model)
            self._unwritten.append((change, self._pending_id))
            self._write_pending(store)
            self.id, self._pending_id = self._pending_id, ""
        except (LacliError, OSError) as error:
            if self.id not in self._written:  # set by `back`, to a session that could not be written
                self.id = ""
            if not self._failed:
                self._failed = True
                self._notify(Notice(f"{getattr(error, 'message', error)}; what is said is not kept"))

    def _begun(self, store: SessionStore, model: str) -> str:
        """The id of a new session."""
        first, self._first_id = self._first_id, ""
        return store.begin(self._kind, self._project(), model, self._system, first)

    def _write_pending(self, store: SessionStore) -> None:
        while self._unwritten:
            change, id_ = self._unwritten[0]
            now = change(store, id_)
            self._written.add(now)
            del self._unwritten[0]
            if now != id_:  # another process went on with it: what follows is a session of its own
                self._unwritten = [(each, now if of == id_ else of) for each, of in self._unwritten]
                self._pending_id = now if self._pending_id == id_ else self._pending_id
        if self._failed:
            self._failed = False
            self._notify(Notice("the log of conversations can be used again: all of this one is kept"))

    def _may_keep_words(self, store: SessionStore, turn: Turn | None) -> bool:
        """Whether logging is on; if not, only the counts are recorded."""
        from lacli.sessions import switch

        if switch.is_on():
            return True
        if turn is not None:
            store.count(self._project(), turn.counts, turn.at)
        return False

    def _open_store(self) -> SessionStore:
        if self._store is None:
            from lacli.sessions.store import SessionStore, path

            self._store = SessionStore(path(), self._notify)
        while self._resumed:
            self._store.register(self._resumed.pop())
        return self._store

    def _project(self) -> Path | None:
        from lacli.project.root import project_root

        return project_root(self._folder)
