"""What commands call to have a turn kept: `recorder(common, kind).turn(question, finished)`. Never fails a command.

Nothing is read, written or imported before the first turn. `--no-log` keeps nothing at all, `lacli logs off` the
numbers of `lacli stats` but no word. A log that cannot be used is one note.
Called by `ask`, `chat`, `complete` and `edit`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.cli import diagnostics
from lacli.errors import LacliError
from lacli.events import Finished, Message, Notice

if TYPE_CHECKING:
    from lacli.cli.options import Common
    from lacli.sessions.records import Session, Turn
    from lacli.sessions.store import SessionStore


def recorder(common: Common, kind: str) -> Recorder:
    """The recorder of one run of a command; `kind` is its name."""
    return Recorder(kind, keep=not common.no_log, system=common.system or "")


class Recorder:
    """Keeps the turns of one conversation."""

    def __init__(self, kind: str, keep: bool = True, system: str = "") -> None:
        self.id = ""
        """The session's id once there is one."""
        self._kind = kind
        self._keep = keep
        self._system = system
        self._store: SessionStore | None = None
        self._opened = False

    def resume(self, session: Session) -> None:
        """Add the following turns to a session that was read."""
        self.id = session.id

    def new(self) -> None:
        """Begin another session with the next turn."""
        self.id = ""

    def turn(self, question: Message, finished: Finished) -> None:
        """Keep a question and its reply."""
        turn = _turn(question, finished)
        if turn is not None:
            self._kept(turn, finished.stats.model, replaces=False)

    def replace(self, question: Message, finished: Finished) -> None:
        """As `turn`, in the place of the last one: the question was asked again."""
        turn = _turn(question, finished)
        if turn is not None:
            self._kept(turn, finished.stats.model, replaces=bool(self.id))

    def keep(self, turn: Turn, model: str, replaces: bool = False) -> None:
        """As `turn` or `replace`, of a turn that was made already."""
        self._kept(turn, model, replaces and bool(self.id))

    def undo(self) -> None:
        """Take the last turn away."""
        if self.id:
            self._kept(None, "", replaces=True)

    def _kept(self, turn: Turn | None, model: str, replaces: bool) -> None:
        if not self._keep:
            return
        try:
            store = self._open()
            if store is None:
                return
            if not self.id:
                from lacli.pool.identity import project_root

                self.id = store.begin(self._kind, project_root(Path(".")), model, self._system)
            if replaces:
                store.replace_last(self.id, turn)
            elif turn is not None:
                store.append(self.id, turn)
        except LacliError as error:
            self._keep = False
            diagnostics.note(f"{error.message}; nothing is kept")

    def _open(self) -> SessionStore | None:
        if not self._opened:
            self._opened = True
            from lacli.sessions.store import open_store

            self._store = open_store(_say)
        return self._store


def _turn(question: Message, finished: Finished) -> Turn | None:
    """None where nothing came of the question: a reply stopped before its first token never happened."""
    from lacli.sessions.records import Turn

    if not finished.text and not finished.token_ids and finished.reason != "stop":
        return None
    answer = Message("assistant", finished.text, finished.token_ids)
    return Turn(question, answer, finished.reason, finished.stats, time.time())


def _say(notice: Notice) -> None:
    (diagnostics.warning if notice.level == "warning" else diagnostics.note)(notice.text)
