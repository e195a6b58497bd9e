"""The log's file: opened anew for each operation, private, waited for within bounds, kept aside when damaged.

A connection lives for one operation. So a file that was deleted or moved meanwhile is noticed, every thread may ask,
and nothing is open when the process is killed. Every failure is a `StoreUnavailable`. Used by `store` only.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lacli.pool import files
from lacli.sessions import migrations
from lacli.sessions.records import StoreUnavailable

if TYPE_CHECKING:
    import sqlite3

PATIENCE_S = 1.5
"""How long all operations of a process together wait for other programs."""
_POLL_S = 0.02
_BESIDE = ("", "-wal", "-shm", "-journal")
_Result = TypeVar("_Result")


class _Damaged(Exception):
    """The file is no sound database."""


class Database:
    """One file. `report` is told what happened to it that the user should know."""

    def __init__(self, path: Path, report: Callable[[str], None]) -> None:
        self.path = path
        self._report = report
        self._patience_s = PATIENCE_S

    def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """What `work` finds; in an empty log where there is no file. Changes nothing but an older layout."""
        try:
            return self._patiently(lambda: self._run(work, "BEGIN"))
        except _Damaged as damaged:
            raise self._unavailable("is damaged", "the next reply keeps it aside and begins a new one") from damaged

    def write(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Do `work` as a whole or not at all; a damaged file is kept aside and a new one begun."""
        for _ in range(2):
            found = self._identity()
            try:
                self._create()
                return self._patiently(lambda: self._run(work, "BEGIN IMMEDIATE"))
            except OSError as error:
                raise self._unavailable(f"cannot be written ({error.strerror})") from error
            except _Damaged:
                self._set_aside(found)
        raise self._unavailable("is damaged")

    def check(self) -> None:
        """Find out whether the file can be used at all, and keep it aside if not; one that is not there is no fault."""
        if os.path.lexists(self.path):
            self.write(lambda connection: connection.execute("SELECT count(*) FROM sessions").fetchone())

    def _patiently(self, attempt: Callable[[], _Result]) -> _Result:
        """Try again while another program holds the file, until the patience of this process is used up."""
        import sqlite3

        while True:
            started = time.monotonic()
            try:
                return attempt()
            except sqlite3.Error as error:
                code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
                if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                    raise _Damaged from error
                if code not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    raise self._unavailable(f"cannot be used ({error})") from error
                if self._patience_s <= 0:
                    raise self._unavailable("is in use by another program") from error
            time.sleep(_POLL_S)
            self._patience_s -= time.monotonic() - started

    def _run(self, work: Callable[[sqlite3.Connection], _Result], begin: str) -> _Result:
        with contextlib.closing(self._connection()) as connection:
            self._bring_up_to_date(connection)
            connection.execute(begin)
            result = work(connection)
            connection.execute("COMMIT")
            return result

    def _connection(self) -> sqlite3.Connection:
        import sqlite3

        if os.path.lexists(self.path):
            connection = sqlite3.connect(f"{self.path.as_uri()}?mode=rw", uri=True, timeout=0, isolation_level=None)
        else:
            connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what was removed is not to be found in the file either
        return connection

    def _bring_up_to_date(self, connection: sqlite3.Connection) -> None:
        found, known = migrations.version(connection), len(migrations.MIGRATIONS)
        if found > known:
            raise self._unavailable(f"was written by a newer lacli (layout {found}, this one knows {known})")
        if found == known:
            return
        if found == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        migrations.migrate(connection)
        connection.execute("COMMIT")

    def _create(self) -> None:
        """Make folder and file, readable by the owner alone: SQLite's own files beside it take over its mode."""
        files.make_private(self.path.parent)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        files.restrict(self.path, 0o600)

    def _identity(self) -> tuple[int, int] | None:
        with contextlib.suppress(OSError):
            found = os.stat(self.path)
            return found.st_dev, found.st_ino
        return None

    def _set_aside(self, found: tuple[int, int] | None) -> None:
        """Rename the file that was found damaged, with what belongs to it; another process may have done it already."""
        try:
            with files.locked(self.path, max(0.0, self._patience_s)):
                if found is None or found != self._identity():
                    return
                aside = self.path.with_name(f"{self.path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
                while os.path.lexists(aside):
                    aside = aside.with_name(aside.name + "x")
                for suffix in reversed(_BESIDE):
                    with contextlib.suppress(FileNotFoundError):
                        os.rename(f"{self.path}{suffix}", f"{aside}{suffix}")
        except OSError as error:
            raise self._unavailable("is damaged and cannot be moved out of the way") from error
        self._report(f"the log of conversations was damaged; it is kept as {aside.name}, and a new one is begun")

    def _unavailable(self, what: str, hint: str = "") -> StoreUnavailable:
        return StoreUnavailable(f"the log of conversations {what}: {self.path}", hint)
