"""Sessions and turns to database rows and back. Values that a damaged page has garbled never raise."""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacli.events import Attachment, Counts, Message
from lacli.sessions.clipping import clipped, title, valid_unicode
from lacli.sessions.database import Damaged, single_row
from lacli.sessions.records import INTERRUPTED, SUMMARISED, Session, Summary, Turn

if TYPE_CHECKING:
    import sqlite3


USED_LAST = "(SELECT max(number) FROM turns WHERE session = sessions.id) DESC, sessions.rowid DESC"
"""The order of sessions, the one used last first: by what was written last, as the clock may have been put back."""
_END_OF_TIME = 32_503_680_000.0
"""The year 3000, which every platform can name."""


def insert_session(connection: sqlite3.Connection, session: Session) -> None:
    """Insert the row of a session."""
    values = (
        session.id,
        session.kind,
        project_column(session.project),
        valid_unicode(session.model),
        clipped(session.system),
        "",
    )
    connection.execute(
        "INSERT INTO sessions (id, kind, project, model, system, title, begun_s, used_s) VALUES (?,?,?,?,?,?,?,?)",
        (*values, session.started, session.started),
    )


def insert_turn(connection: sqlite3.Connection, id: str, turn: Turn) -> int:  # noqa: A002
    """Append a turn to a session that has a row; returns the number of its row."""
    question = turn.question
    connection.execute("UPDATE sessions SET used_s = ? WHERE id = ?", (turn.at, id))
    words = question.text if question.text.strip() else " ".join(each.label for each in question.attachments)
    if question.text != SUMMARISED:  # what the user asked names a session
        connection.execute("UPDATE sessions SET title = ? WHERE id = ? AND title = ''", (title(words), id))
    ids = struct.pack(f"<{len(turn.answer.token_ids)}I", *turn.answer.token_ids)
    counts = json.dumps(turn.counts.totals())
    number = connection.execute(
        "INSERT INTO turns (session, question, answer, token_ids, reason, counts, at_s, thought)"
        " VALUES (?,?,?,?,?,?,?,?)",
        (
            id,
            clipped(question.text),
            clipped(turn.answer.text),
            ids,
            turn.reason,
            counts,
            turn.at,
            clipped(turn.thought),
        ),
    ).lastrowid
    assert number is not None
    for place, attachment in enumerate(question.attachments):
        content = _insert_content(connection, clipped(attachment.text))
        row = (number, place, valid_unicode(attachment.label), content)
        connection.execute("INSERT INTO attachments (turn, place, label, content) VALUES (?,?,?,?)", row)
    return number


def _insert_content(connection: sqlite3.Connection, text: str) -> int:
    digest = hashlib.sha256(text.encode()).digest()
    connection.execute("INSERT OR IGNORE INTO contents (digest, text) VALUES (?,?)", (digest, text))
    number = single_row(connection.execute("SELECT number FROM contents WHERE digest = ?", (digest,)))[0]
    if not isinstance(number, int):
        raise Damaged
    return number


def delete_if_empty(connection: sqlite3.Connection, id: str) -> None:  # noqa: A002
    """Delete a session if it has no turns."""
    connection.execute(
        "DELETE FROM sessions WHERE id = ? AND NOT EXISTS (SELECT 1 FROM turns WHERE session = ?)", (id, id)
    )


def delete_unused_contents(connection: sqlite3.Connection) -> None:
    """Delete the texts that no turn refers to any more."""
    connection.execute("DELETE FROM contents WHERE number NOT IN (SELECT content FROM attachments)")


def add_counts(connection: sqlite3.Connection, project: Path | None, counts: Counts, at: float) -> None:
    """Add to the totals of a day."""
    day = time.strftime("%Y-%m-%d", time.localtime(at))
    connection.executemany(
        "INSERT INTO days (day, project, name, value) VALUES (?,?,?,?)"
        " ON CONFLICT DO UPDATE SET value = value + excluded.value",
        [(day, project_column(project), name, value) for name, value in counts.totals().items()],
    )


def day_counts(connection: sqlite3.Connection, project: Path | None, everywhere: bool) -> dict[str, Counts]:
    """The totals by day, oldest first."""
    totals: dict[str, dict[str, float]] = {}
    for day, name, value in connection.execute(
        "SELECT day, name, sum(value) FROM days WHERE ? OR project = ? GROUP BY day, name ORDER BY day",
        (everywhere, project_column(project)),
    ):
        totals.setdefault(text_of(day), {})[text_of(name)] = value
    return {day: _counts_of(each) for day, each in totals.items()}


def read_session(connection: sqlite3.Connection, id: str) -> tuple[Session, list[int]]:  # noqa: A002
    """A session that has a row, and the numbers of its turns in the file."""
    kind, project, model, system, named, started = single_row(
        connection.execute("SELECT kind, project, model, system, title, begun_s FROM sessions WHERE id = ?", (id,))
    )
    attached: dict[int, list[Attachment]] = {}
    for number, label, text in connection.execute(
        "SELECT turn, label, text FROM attachments JOIN contents ON contents.number = content"
        " WHERE turn IN (SELECT number FROM turns WHERE session = ?) ORDER BY turn, place",
        (id,),
    ):
        attached.setdefault(number, []).append(Attachment(text_of(label), text_of(text)))
    rows = connection.execute(
        "SELECT number, question, answer, token_ids, reason, counts, at_s, thought FROM turns"
        " WHERE session = ? ORDER BY number",
        (id,),
    ).fetchall()
    turns = tuple(_turn(row[1:], attached.get(row[0], ())) for row in rows)
    words = (text_of(model), text_of(system), text_of(named))
    return Session(id, text_of(kind), path_of(project), *words, turns, time_of(started)), [row[0] for row in rows]


def _turn(row: tuple[Any, ...], attachments: Iterable[Attachment]) -> Turn:
    question, answer, token_ids, reason, counts, at, thought = row
    data = token_ids if isinstance(token_ids, bytes) else b""
    ids = struct.unpack_from(f"<{len(data) // 4}I", data)
    asked = Message("user", text_of(question), attachments=tuple(attachments))
    answered = Message("assistant", text_of(answer), ids)
    return Turn(asked, answered, text_of(reason), _counts(counts), time_of(at), text_of(thought))


def _counts(text: Any) -> Counts:
    try:
        return _counts_of(json.loads(text_of(text)))
    except (ValueError, AttributeError, RecursionError):
        return Counts()


def _counts_of(totals: Mapping[str, Any]) -> Counts:
    numbers = {name: float(value) for name, value in totals.items() if isinstance(value, int | float)}
    return Counts.of_totals({name: value for name, value in numbers.items() if math.isfinite(value)})


def summaries(
    connection: sqlite3.Connection,
    project: Path | None,
    everywhere: bool,
    limit: int | None = None,
    kinds: Collection[str] = (),
) -> list[Summary]:
    """Sessions, most recently used first."""
    of_kinds = f" AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""
    rows = connection.execute(
        "SELECT id, kind, project, model, title, begun_s, used_s,"
        " (SELECT count(*) FROM turns WHERE session = id),"
        " (SELECT reason FROM turns WHERE session = id ORDER BY number DESC LIMIT 1)"
        f" FROM sessions WHERE (? OR project = ?){of_kinds} ORDER BY {USED_LAST} LIMIT ?",
        (everywhere, project_column(project), *kinds, -1 if limit is None else limit),
    )
    return [
        Summary(
            id=text_of(id_),
            kind=text_of(kind),
            project=path_of(where),
            model=text_of(model),
            title=text_of(named),
            turns=turns,
            started=time_of(started),
            used=time_of(used),
            interrupted=reason == INTERRUPTED,
        )
        for id_, kind, where, model, named, started, used, turns, reason in rows
    ]


def project_column(project: Path | None) -> str | bytes:
    """A project's path as it is stored: text, or bytes if it is not UTF-8; empty outside any project."""
    if project is None:
        return ""
    try:
        str(project).encode()
    except UnicodeEncodeError:
        return os.fsencode(project)
    return str(project)


def path_of(value: Any) -> Path | None:
    """The inverse of `project_column`."""
    if isinstance(value, bytes):
        return Path(os.fsdecode(value))
    return Path(text_of(value)) if text_of(value) else None


def text_of(value: Any) -> str:
    """A text column; empty if it is damaged."""
    return value if isinstance(value, str) else ""


def time_of(value: Any) -> float:
    """A time column; 0 if it is out of the calendar's range."""
    return float(value) if isinstance(value, int | float) and 0 <= value < _END_OF_TIME else 0.0
