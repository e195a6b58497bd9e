"""The layout of the log, as the list of steps that make it. Append only: what was released is never changed.

`PRAGMA user_version` is the number of steps a file has had; their names are in its table `migrations`. A file that had
more than this list holds was written by a newer lacli and is left alone.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

_M001_SESSIONS = """
CREATE TABLE migrations (name TEXT PRIMARY KEY, applied_s REAL NOT NULL);

-- project is '' outside any, and bytes where the path is no UTF-8
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, project NOT NULL, model TEXT NOT NULL, system TEXT NOT NULL,
    title TEXT NOT NULL, begun_s REAL NOT NULL, used_s REAL NOT NULL
);
CREATE INDEX sessions_used ON sessions (used_s);

-- token_ids are those of the answer, u32, least significant byte first; counts is JSON
CREATE TABLE turns (
    number INTEGER PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    question TEXT NOT NULL, answer TEXT NOT NULL, token_ids BLOB NOT NULL, reason TEXT NOT NULL, counts TEXT NOT NULL,
    at_s REAL NOT NULL
);
CREATE INDEX turns_session ON turns (session, number);

-- the text of attachments, each once however often it was attached
CREATE TABLE contents (number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, text TEXT NOT NULL);
CREATE TABLE attachments (
    turn INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE, place INTEGER NOT NULL, label TEXT NOT NULL,
    content INTEGER NOT NULL REFERENCES contents (number), PRIMARY KEY (turn, place)
) WITHOUT ROWID;
CREATE INDEX attachments_content ON attachments (content);

-- sums of the numbers of all replies; day is the user's own, YYYY-MM-DD
CREATE TABLE days (
    day TEXT NOT NULL, project NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (day, project, name)
) WITHOUT ROWID;
"""

_M002_THOUGHTS = """
-- what the model thought before the answer; token_ids are of both
ALTER TABLE turns ADD COLUMN thought TEXT NOT NULL DEFAULT '';
"""

MIGRATIONS = (("m001_sessions", _M001_SESSIONS), ("m002_thoughts", _M002_THOUGHTS))


def version(connection: sqlite3.Connection) -> int:
    """How many steps this file has had."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection) -> None:
    """Take the steps a file lacks; called inside a transaction."""
    done = version(connection)
    for number, (name, statements) in enumerate(MIGRATIONS[done:], done + 1):
        for statement in statements.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute("INSERT INTO migrations VALUES (?, ?)", (name, time.time()))
        connection.execute(f"PRAGMA user_version = {number}")
