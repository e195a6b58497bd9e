"""Saved conversations: started, extended, searched, removed. SQLite in one private file in the data folder.

Kept are questions, the text that was attached to them, answers with the ids the model wrote, which model wrote them,
when, and in which project. It is the user's own transcript: never sent anywhere, readable by the owner alone.
Every method either does its work or raises `StoreUnavailable`; a turn whose `append` returned is on the disk.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lacli import paths
from lacli.events import Counts, Notice
from lacli.sessions import rows, search
from lacli.sessions.clipping import clipped
from lacli.sessions.database import Database
from lacli.sessions.records import Hit, NoSuchSession, Session, StoreSize, StoreUnavailable, Summary, Turn

if TYPE_CHECKING:
    import sqlite3

__all__ = ["FILE_NAME", "NoSuchSession", "SessionStore", "StoreUnavailable", "open_store", "path"]

FILE_NAME = "sessions.db"
_SHOWN = 5
"""The most sessions that are listed if an id prefix is ambiguous."""


def path() -> Path:
    """The path of the log."""
    return paths.data_dir() / FILE_NAME


def open_store(report: Callable[[Notice], None]) -> SessionStore:
    """Open the log for a conversation; a damaged file is set aside at once, and a new one started."""
    store = SessionStore(path(), report)
    store.check()
    return store


def new_id() -> str:
    """An id that no session has."""
    return secrets.token_hex(8)


class SessionStore:
    """The log of conversations in one file, which need not exist."""

    def __init__(self, path: Path, report: Callable[[Notice], None] = lambda notice: None) -> None:
        self.path = path
        self._database = Database(path, lambda text: report(Notice(text, "warning")))
        self._report = report
        self._known: dict[str, Session] = {}
        """Sessions started or read here, as they were in the file then: meanwhile it may have been deleted, and another
        process may have continued the same session."""
        self._counted: set[float] = set()
        """The times of the turns that were added here, so that one that is restored is not counted again."""

    def check(self) -> None:
        """Raise if the file cannot be read; set a damaged one aside."""
        self._database.check()

    def begin(self, kind: str, project: Path | None, model: str, system: str = "", id: str = "") -> str:  # noqa: A002
        """Start a session and return its id, which may be one of `new_id`. It is stored with its first turn."""
        session = Session(id or new_id(), kind, project, model, system, "", started=time.time())
        self.register(session)
        return session.id

    def register(self, session: Session) -> None:
        """Make a session that another store has read known here, so that turns can be added to it."""
        self._known[session.id] = session

    def append(self, id: str, turn: Turn, model: str = "") -> str:  # noqa: A002 - what it is called everywhere
        """Add a turn to a session, and its counts to the day's; returns the session's id.

        Another `model` than before becomes the session's; ids that the one before wrote mean nothing to it and go.
        Where another process has changed the session, what is known of it here goes on as another one, with a new id:
        two conversations are never mixed into one that nobody had.
        """
        return self._change(id, 0, turn, model)

    def replace_last(self, id: str, turn: Turn | None, model: str = "") -> str:  # noqa: A002
        """Put a turn in the place of the last one, or take that away; the id is as of `append`. The day's counts keep
        what was really done."""
        return self._change(id, 1, turn, model)

    def describe(self, id: str, system: str) -> str:  # noqa: A002
        """Change the system message of a session that was started or read here; the id is as of `append`."""

        def work(connection: sqlite3.Connection, notices: list[Notice]) -> Session:
            known = self._known[id]
            if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (id,)).fetchone():
                known, _ = self._ensure_row(connection, id, notices)
                connection.execute("UPDATE sessions SET system = ? WHERE id = ?", (clipped(system), known.id))
                rows.delete_if_empty(connection, known.id)
            return replace(known, system=system)

        return self._write_session(work)

    def _change(self, id: str, dropped: int, turn: Turn | None, model: str) -> str:  # noqa: A002
        """Take away the last turns of a session and add one, in one transaction."""

        def work(connection: sqlite3.Connection, notices: list[Notice]) -> Session:
            known, numbers = self._ensure_row(connection, id, notices)
            turns = known.turns[: len(numbers) - dropped] if dropped <= len(numbers) else ()
            for number in numbers[len(turns) :]:
                connection.execute("DELETE FROM turns WHERE number = ?", (number,))
            if turn is not None:
                if model and _set_model(connection, known.id, model):
                    turns = tuple(each.without_ids() for each in turns)
                rows.insert_turn(connection, known.id, turn)
                if turn.at not in self._counted:
                    rows.add_counts(connection, known.project, turn.counts, turn.at)
                turns = (*turns, turn)
            if dropped:
                rows.delete_if_empty(connection, known.id)
                rows.delete_unused_contents(connection)
            return replace(known, turns=turns, model=model or known.model)

        changed = self._write_session(work)
        if turn is not None:
            self._counted.add(turn.at)
        return changed

    def _write_session(self, work: Callable[[sqlite3.Connection, list[Notice]], Session]) -> str:
        """Write a session, and remember it as `work` returns it. Returns its id."""
        notices: list[Notice] = []

        def attempt(connection: sqlite3.Connection) -> Session:
            notices.clear()  # this may be the second attempt
            return work(connection, notices)

        changed = self._database.write(attempt)
        self.register(changed)
        for notice in notices:
            self._report(notice)
        return changed.id

    def _ensure_row(
        self,
        connection: sqlite3.Connection,
        id: str,  # noqa: A002
        notices: list[Notice],
    ) -> tuple[Session, list[int]]:
        """A session that has a row and is as it is known here, and the numbers of its turns: the one of this id, or
        another one in its place."""
        row = connection.execute("SELECT system, begun_s FROM sessions WHERE id = ?", (id,)).fetchone()
        known = self._known.get(id)
        if known is None:
            if row is None:
                raise NoSuchSession(f"there is no session {id}", "see lacli sessions list")
            read, numbers = rows.read_session(connection, id)
            return read, numbers
        if row is None:
            if known.turns:
                notices.append(Notice("the earlier turns are gone from the log; what follows is kept", "warning"))
                known = replace(known, started=time.time(), turns=())
            rows.insert_session(connection, known)
            return known, []
        here = connection.execute("SELECT number, at_s FROM turns WHERE session = ? ORDER BY 1", (id,)).fetchall()
        same = [rows.time_of(at) for _, at in here] == [rows.time_of(turn.at) for turn in known.turns]
        if same and rows.text_of(row[0]) == clipped(known.system):
            return known, [number for number, _ in here]
        removed = rows.time_of(row[1]) != rows.time_of(known.started)  # and stored again by another process
        turns = () if removed else known.turns
        own = replace(known, id=new_id(), started=time.time(), turns=turns)
        rows.insert_session(connection, own)
        what = "was deleted elsewhere" if removed else "was continued elsewhere, too"
        notices.append(
            Notice(f"session {id[:8]} {what}: what is said here is kept as {own.id[:8]} from now on", "warning")
        )
        return own, [rows.insert_turn(connection, own.id, turn) for turn in turns]

    def count(self, project: Path | None, counts: Counts, at: float) -> None:
        """Add to the day's counts alone, for a reply whose text is not to be stored."""
        self._database.write(lambda connection: rows.add_counts(connection, project, counts, at))

    def session(self, prefix: str) -> Session:
        """The one session whose id begins so. Raises NoSuchSession."""

        def work(connection: sqlite3.Connection) -> tuple[Session, Sequence[int]]:
            return rows.read_session(connection, _full_id(connection, prefix))

        return self._remember(self._database.read(work))

    def latest(self, project: Path | None, kinds: Collection[str]) -> Session | None:
        """The session of these kinds used last in this project."""

        def work(connection: sqlite3.Connection) -> tuple[Session, Sequence[int]] | None:
            marks = ",".join("?" * len(kinds))
            row = connection.execute(
                f"SELECT id FROM sessions WHERE project = ? AND kind IN ({marks}) ORDER BY {rows.USED_LAST}",
                (rows.project_column(project), *kinds),
            ).fetchone()
            return rows.read_session(connection, row[0]) if row else None

        read = self._database.read(work)
        return None if read is None else self._remember(read)

    def _remember(self, read: tuple[Session, Sequence[int]]) -> Session:
        session, _ = read
        self.register(session)
        return session

    def list(
        self,
        project: Path | None = None,
        everywhere: bool = False,
        limit: int | None = None,
        kinds: Collection[str] = (),
    ) -> Sequence[Summary]:
        """Sessions of this project (None: of none), or of all, the one used last first; of these kinds, if any are
        named."""
        return self._database.read(lambda connection: rows.summaries(connection, project, everywhere, limit, kinds))

    def search(
        self,
        text: str,
        project: Path | None = None,
        everywhere: bool = False,
        limit: int | None = None,
        kinds: Collection[str] = (),
    ) -> Sequence[Hit]:
        """Those of the sessions that `list` gives whose turns or attachments contain this text, ignoring case; all if
        it is empty."""
        return self._database.read(
            lambda connection: search.search(connection, text, project, everywhere, limit, kinds)
        )

    def full_id(self, prefix: str) -> str:
        """The id that begins so. Raises NoSuchSession."""
        return self._database.read(lambda connection: _full_id(connection, prefix))

    def short_length(self) -> int:
        """How many characters of an id tell it from all others; never few."""

        def work(connection: sqlite3.Connection) -> int:
            for length in range(8, 16):
                query = "SELECT count(DISTINCT substr(id, 1, ?)) = count(*) FROM sessions"
                if connection.execute(query, (length,)).fetchone()[0]:
                    return length
            return 16

        return self._database.read(work)

    def remove(self, ids: Collection[str]) -> int:
        """Delete sessions by their whole ids, so that nothing of them is left in the file; returns how many went."""

        def work(connection: sqlite3.Connection) -> int:
            gone = sum(connection.execute("DELETE FROM sessions WHERE id = ?", (each,)).rowcount for each in ids)
            rows.delete_unused_contents(connection)
            return gone

        if not self._database.read(lambda connection: connection.execute("SELECT 1 FROM sessions").fetchone()):
            return 0
        gone = self._database.write(work)
        self._database.shrink()
        return gone

    def days(self, project: Path | None = None, everywhere: bool = False) -> dict[str, Counts]:
        """The counts of all replies by day (YYYY-MM-DD), oldest first; those of removed sessions are in it."""
        return self._database.read(lambda connection: rows.day_counts(connection, project, everywhere))

    def size(self) -> StoreSize:
        """How much is stored."""

        def work(connection: sqlite3.Connection) -> tuple[int, int, float]:
            sessions, oldest = connection.execute("SELECT count(*), min(begun_s) FROM sessions").fetchone()
            turns = connection.execute("SELECT count(*) FROM turns").fetchone()[0]
            return sessions, turns, rows.time_of(oldest)

        sessions, turns, oldest = self._database.read(work)
        return StoreSize(sessions, turns, self._database.byte_size(), oldest)


def _set_model(connection: sqlite3.Connection, id: str, model: str) -> bool:  # noqa: A002
    """Set the model of a session. Returns whether it has changed."""
    changed = connection.execute(
        "UPDATE sessions SET model = ? WHERE id = ? AND model <> ?", (model, id, model)
    ).rowcount
    if changed:
        connection.execute("UPDATE turns SET token_ids = x'' WHERE session = ?", (id,))
    return bool(changed)


def _full_id(connection: sqlite3.Connection, prefix: str) -> str:
    wanted = prefix.lower()
    found = connection.execute(
        "SELECT id, kind, title FROM sessions WHERE substr(id, 1, ?) = ? ORDER BY used_s DESC", (len(wanted), wanted)
    ).fetchall()
    if not wanted or not found:
        raise NoSuchSession(f"no session's id begins with {prefix!r}", "see `lacli sessions list --all`")
    if len(found) == 1:
        return rows.text_of(found[0][0])
    named = ", ".join(f"{id_} ({kind}: {title[:30]})" for id_, kind, title in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    raise NoSuchSession(f"{len(found):,} sessions have an id that begins with {prefix!r}", f"say which: {named}{more}")
