"""Saved conversations: begun, added to, found again, removed. SQLite in one private file below the data folder.

What is kept: questions, the text that was attached to them, answers with the ids the model wrote, which model wrote
them, when, and in which project. It is the user's own transcript: never sent anywhere, readable by the owner alone.
Every method either does its work or raises `StoreUnavailable`; a turn whose `append` returned is on the disk.
Called by `lacli.cli.record`, `lacli.cli.sessions` and the conversation loops.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import struct
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacli import paths
from lacli.errors import LacliError
from lacli.events import Attachment, Counts, Message, Notice
from lacli.sessions.database import Database
from lacli.sessions.kept import kept, title, whole
from lacli.sessions.records import NoSuchSession, Session, StoreUnavailable, Summary, Turn

if TYPE_CHECKING:
    import sqlite3

__all__ = ["FILE_NAME", "KINDS", "NoSuchSession", "SessionStore", "StoreUnavailable", "open_store", "path"]

FILE_NAME = "sessions.db"
KINDS = ("ask", "chat", "complete", "edit")


def path() -> Path:
    """Where the log is."""
    return paths.data_dir() / FILE_NAME


def open_store(report: Callable[[Notice], None]) -> SessionStore | None:
    """The log, if it can be used; else None, and the reason is reported. A damaged file is kept aside."""
    try:
        store = SessionStore(path(), report)
        store.check()
        return store
    except LacliError as error:
        report(Notice(f"{error.message}; nothing is kept"))
        return None


class SessionStore:
    """The log of conversations in one file, which need not exist."""

    def __init__(self, path: Path, report: Callable[[Notice], None] = lambda notice: None) -> None:
        self.path = path
        self._database = Database(path, lambda text: report(Notice(text, "warning")))
        self._report = report
        self._known: dict[str, Session] = {}
        """What sessions begun or read here are, without their turns: the file may be deleted while one goes on."""
        self._numbers: dict[str, list[int]] = {}
        """Their turns in the file: another process may add to the same session."""

    def check(self) -> None:
        """Raise if the file cannot be used; keep a damaged one aside."""
        self._database.check()

    def begin(self, kind: str, project: Path | None, model: str, system: str = "") -> str:
        """A new session without turns; its id."""
        session = Session(secrets.token_hex(8), kind, project, model, kept(system), "", begun=time.time())
        self._database.write(lambda connection: _insert(connection, session))
        self._known[session.id] = session
        self._numbers[session.id] = []
        return session.id

    def append(self, id: str, turn: Turn) -> None:  # noqa: A002 - what it is called everywhere
        """Add a turn to a session, and its counts to the day's."""
        self._database.write(lambda connection: self._append(connection, id, turn))

    def replace_last(self, id: str, turn: Turn | None) -> None:  # noqa: A002
        """Put a turn in the place of the last one, or take that away. The day's counts keep what was really done."""

        def work(connection: sqlite3.Connection) -> None:
            numbers = self._numbers.get(id) or [
                row[0] for row in connection.execute("SELECT number FROM turns WHERE session = ? ORDER BY 1", (id,))
            ]
            if numbers:
                connection.execute("DELETE FROM turns WHERE number = ?", (numbers.pop(),))
                _forget_contents(connection)
            self._numbers[id] = numbers
            if turn is not None:
                self._append(connection, id, turn)

        self._database.write(work)

    def session(self, prefix: str) -> Session:
        """The one session whose id begins so."""
        found = self._database.read(lambda connection: self._read(connection, _full_id(connection, prefix)))
        return found

    def latest(self, project: Path | None, kinds: Collection[str]) -> Session | None:
        """The session of these kinds used last in this project."""

        def work(connection: sqlite3.Connection) -> Session | None:
            marks = ", ".join("?" * len(kinds))
            row = connection.execute(
                f"SELECT id FROM sessions WHERE project = ? AND kind IN ({marks})"
                " AND EXISTS (SELECT 1 FROM turns WHERE session = id) ORDER BY used_s DESC LIMIT 1",
                (_stored(project), *kinds),
            ).fetchone()
            return self._read(connection, row[0]) if row else None

        return self._database.read(work)

    def list(self, project: Path | None = None, everywhere: bool = False, limit: int = -1) -> list[Summary]:
        """Sessions with turns of this project, or of all, the one used last first."""
        return self._database.read(lambda connection: _summaries(connection, project, everywhere, limit))

    def days(self, project: Path | None = None, everywhere: bool = False) -> dict[str, Counts]:
        """The counts of all replies by day (YYYY-MM-DD), oldest first; removed sessions still count."""

        def work(connection: sqlite3.Connection) -> dict[str, Counts]:
            totals: dict[str, dict[str, float]] = {}
            for day, name, value in connection.execute(
                "SELECT day, name, sum(value) FROM days WHERE ? OR project = ? GROUP BY day, name ORDER BY day",
                (everywhere, _stored(project)),
            ):
                totals.setdefault(str(day), {})[str(name)] = _number(value)
            return {day: Counts.of_totals(each) for day, each in totals.items()}

        return self._database.read(work)

    def _append(self, connection: sqlite3.Connection, id: str, turn: Turn) -> None:  # noqa: A002
        row = connection.execute("SELECT title FROM sessions WHERE id = ?", (id,)).fetchone()
        if row is None:
            if id not in self._known:
                raise NoSuchSession(f"there is no session {id}", "see lacli sessions list")
            _insert(connection, self._known[id])
            self._numbers[id] = []
            row = ("",)
        named = row[0] or title(turn.question.text)
        connection.execute("UPDATE sessions SET title = ?, used_s = ? WHERE id = ?", (named, turn.at, id))
        number = connection.execute(
            "INSERT INTO turns (session, question, answer, token_ids, reason, counts, at_s) VALUES (?,?,?,?,?,?,?)",
            (
                id,
                kept(turn.question.text),
                kept(turn.answer.text),
                struct.pack(f"<{len(turn.answer.token_ids)}I", *turn.answer.token_ids),
                turn.reason,
                json.dumps(turn.counts.totals()),
                turn.at,
            ),
        ).lastrowid
        for place, attachment in enumerate(turn.question.attachments):
            content = _content(connection, kept(attachment.text))
            connection.execute(
                "INSERT INTO attachments VALUES (?, ?, ?, ?)", (number, place, whole(attachment.label), content)
            )
        self._numbers.setdefault(id, []).append(int(number or 0))
        project = connection.execute("SELECT project FROM sessions WHERE id = ?", (id,)).fetchone()[0]
        _count(connection, project, turn)

    def _read(self, connection: sqlite3.Connection, id: str) -> Session:  # noqa: A002
        kind, project, model, system, named, begun = connection.execute(
            "SELECT kind, project, model, system, title, begun_s FROM sessions WHERE id = ?", (id,)
        ).fetchone()
        rows = connection.execute(
            "SELECT number, question, answer, token_ids, reason, counts, at_s FROM turns WHERE session = ? ORDER BY 1",
            (id,),
        ).fetchall()
        attached: dict[int, list[Attachment]] = {}
        for number, label, text in connection.execute(
            "SELECT turn, label, text FROM attachments JOIN contents ON contents.number = content"
            " JOIN turns ON turns.number = turn WHERE session = ? ORDER BY turn, place",
            (id,),
        ):
            attached.setdefault(number, []).append(Attachment(_text(label), _text(text)))
        turns = tuple(_turn(row, tuple(attached.get(row[0], ()))) for row in rows)
        session = Session(
            id, _text(kind), _path(project), _text(model), _text(system), _text(named), turns, _number(begun)
        )
        self._known[id] = replace(session, turns=())
        self._numbers[id] = [int(row[0]) for row in rows]
        return session


def _insert(connection: sqlite3.Connection, session: Session) -> None:
    connection.execute(
        "INSERT INTO sessions (id, kind, project, model, system, title, begun_s, used_s) VALUES (?,?,?,?,?,?,?,?)",
        (
            session.id,
            session.kind,
            _stored(session.project),
            whole(session.model),
            session.system,
            session.title,
            session.begun,
            session.begun,
        ),
    )


def _content(connection: sqlite3.Connection, text: str) -> int:
    digest = hashlib.sha256(text.encode()).digest()
    connection.execute("INSERT OR IGNORE INTO contents (digest, text) VALUES (?, ?)", (digest, text))
    return int(connection.execute("SELECT number FROM contents WHERE digest = ?", (digest,)).fetchone()[0])


def _forget_contents(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM contents WHERE number NOT IN (SELECT content FROM attachments)")


def _count(connection: sqlite3.Connection, project: str | bytes, turn: Turn) -> None:
    day = time.strftime("%Y-%m-%d", time.localtime(turn.at))
    connection.executemany(
        "INSERT INTO days VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
        [(day, project, name, value) for name, value in turn.counts.totals().items()],
    )


def _full_id(connection: sqlite3.Connection, prefix: str) -> str:
    rows = connection.execute("SELECT id FROM sessions WHERE substr(id, 1, ?) = ?", (len(prefix), prefix)).fetchall()
    if len(rows) == 1 and prefix:
        return str(rows[0][0])
    raise NoSuchSession(f"no session begins with {prefix!r}", "see lacli sessions list")


def _summaries(connection: sqlite3.Connection, project: Path | None, everywhere: bool, limit: int) -> list[Summary]:
    rows = connection.execute(
        "SELECT id, kind, project, model, title, begun_s, used_s,"
        " (SELECT count(*) FROM turns WHERE session = id) AS turns,"
        " (SELECT reason FROM turns WHERE session = id ORDER BY number DESC LIMIT 1)"
        " FROM sessions WHERE (? OR project = ?) AND turns > 0 ORDER BY used_s DESC LIMIT ?",
        (everywhere, _stored(project), limit),
    )
    return [
        Summary(
            str(row[0]),
            _text(row[1]),
            _path(row[2]),
            _text(row[3]),
            _text(row[4]),
            int(row[7]),
            _number(row[5]),
            _number(row[6]),
            row[8] == "cancelled",
        )
        for row in rows
    ]


def _turn(row: tuple[Any, ...], attachments: tuple[Attachment, ...]) -> Turn:
    _, question, answer, token_ids, reason, counts, at = row
    data = token_ids if isinstance(token_ids, bytes) else b""
    ids = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    return Turn(
        Message("user", _text(question), attachments=attachments),
        Message("assistant", _text(answer), ids),
        _text(reason),
        _counts(counts),
        _number(at),
    )


def _counts(text: Any) -> Counts:
    try:
        return Counts.of_totals({str(name): float(value) for name, value in json.loads(_text(text)).items()})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return Counts()


def _stored(project: Path | None) -> str | bytes:
    """A project's path as the log has it."""
    if project is None:
        return ""
    try:
        str(project).encode()
    except UnicodeEncodeError:
        return os.fsencode(project)
    return str(project)


def _path(stored: Any) -> Path | None:
    if isinstance(stored, bytes):
        return Path(os.fsdecode(stored))
    return Path(_text(stored)) if _text(stored) else None


def _text(value: Any) -> str:
    """A column that should be a text, which a damaged page may have made something else."""
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
