"""The log's database file: opened for each operation, private, waited for within bounds, set aside when damaged.

A connection lives for one operation, so a file that was deleted or moved meanwhile is noticed, every thread may use
it, and nothing is open when the process is killed. Every failure is a `StoreUnavailable`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lacli.sessions import migrations
from lacli.sessions.records import StoreUnavailable
from lacli.storage import files
from lacli.storage.lock import locked

if TYPE_CHECKING:
    import sqlite3

MAX_WAIT_S = 1.5
"""How long all operations of a process together wait for other programs, until one of them succeeds."""
_POLL_S = 0.02
_SUFFIXES = ("", "-wal", "-shm", "-journal")
_RENAME_IT = "rename it, and the next reply starts a new one"
_CHECK_PERMISSIONS = "check the permissions of the file and its folder"
_UNKNOWN_LAYOUT = ("has a layout unknown to this lacli", _RENAME_IT)
_SQLITE_ERRORS = {
    "SQLITE_CANTOPEN": ("cannot be opened", _CHECK_PERMISSIONS),
    "SQLITE_PERM": ("may not be opened", _CHECK_PERMISSIONS),
    "SQLITE_READONLY": ("cannot be written", _CHECK_PERMISSIONS),
    "SQLITE_FULL": ("no longer fits on the disk", "free some space"),
    "SQLITE_IOERR": ("cannot be read or written", "check its disk, or set LACLI_HOME to a folder elsewhere"),
    "SQLITE_PROTOCOL": ("lies where files cannot be locked", "set LACLI_HOME to a folder elsewhere"),
    "SQLITE_ERROR": _UNKNOWN_LAYOUT,
    "SQLITE_CONSTRAINT": _UNKNOWN_LAYOUT,
}
"""What SQLite's errors mean, and the remedy."""
_Result = TypeVar("_Result")


class _WaitBudget:
    """What is left of `MAX_WAIT_S`, for all files: a command that reads the log and then adds to it waits only once."""

    left_s = MAX_WAIT_S


class Damaged(Exception):
    """The file is not a valid database. Operations on it may raise this, too."""


class Database:
    """One file. `report` is called with what the user should know about it."""

    def __init__(self, path: Path, report: Callable[[str], None]) -> None:
        self.path = path.absolute()
        self._report = report

    def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run `work` on the file, or on an empty log if there is none. Changes nothing except an older layout."""
        try:
            return self._retrying(lambda: self._read(work))
        except Damaged as damaged:
            raise self._unavailable("is damaged", _RENAME_IT) from damaged

    def write(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run `work` in one transaction; a damaged file is set aside and a new one started."""
        for _ in range(2):
            found = self._identity()
            try:
                self._create()
                return self._retrying(lambda: self._run(work, "BEGIN IMMEDIATE", "mode=rw"))
            except OSError as error:
                raise self._unavailable(f"cannot be written ({error.strerror or error})", _CHECK_PERMISSIONS) from error
            except Damaged:
                self._set_aside(found)
        raise self._unavailable("is damaged")

    def check(self) -> None:
        """Raise if the file cannot be read; set a damaged one aside. A missing file is fine."""
        found = self._identity()
        try:
            self._retrying(lambda: self._read(lambda db: db.execute("SELECT count(*) FROM sessions").fetchone()))
        except Damaged:
            self._set_aside(found)

    def shrink(self) -> None:
        """Free the disk space of what was removed."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("COMMIT")  # nothing was done in it but to find out that nobody else writes
            connection.executescript("PRAGMA incremental_vacuum")  # `execute` would free one page
            connection.execute("BEGIN")

        self.write(work)

    def byte_size(self) -> int:
        """The size of the file and of those that SQLite keeps beside it."""
        total = 0
        for suffix in _SUFFIXES:
            with contextlib.suppress(OSError):
                total += os.stat(f"{self.path}{suffix}").st_size
        return total

    def _read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        import sqlite3

        try:
            return self._run(work, "BEGIN", "mode=rw")
        except sqlite3.OperationalError as error:
            # SQLite makes files beside a database even to read it, unless told that nobody writes.
            if _name(error) not in ("SQLITE_CANTOPEN", "SQLITE_READONLY") or os.access(self.path.parent, os.W_OK):
                raise
            return self._run(work, "BEGIN", "mode=ro&immutable=1")

    def _retrying(self, attempt: Callable[[], _Result]) -> _Result:
        """Retry while another program holds the file, until this process has waited for `MAX_WAIT_S`.

        It sleeps in slices here, not in SQLite, so that Ctrl-C is noticed.
        """
        try:
            import sqlite3
        except ImportError as error:
            raise self._unavailable("needs a Python that was built with SQLite") from error
        while True:
            started = time.monotonic()
            try:
                result = attempt()
                _WaitBudget.left_s = MAX_WAIT_S
                return result
            except UnicodeError as error:  # of a message that cites a damaged name: what is written here is sound
                raise Damaged from error
            except sqlite3.Error as error:
                name = _name(error)
                if name in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
                    raise Damaged from error
                if name not in ("SQLITE_BUSY", "SQLITE_LOCKED"):
                    raise self._unavailable(
                        *_SQLITE_ERRORS.get(name, (f"cannot be used ({error})", _RENAME_IT))
                    ) from error
                if _WaitBudget.left_s <= 0:
                    raise self._unavailable("is held by another program", "try again in a moment") from error
            time.sleep(_POLL_S)
            _WaitBudget.left_s -= time.monotonic() - started

    def _run(self, work: Callable[[sqlite3.Connection], _Result], begin: str, mode: str) -> _Result:
        with contextlib.closing(self._connection(mode)) as connection:
            self._migrate(connection)
            connection.execute(begin)
            result = work(connection)
            connection.execute("COMMIT")
            return result

    def _connection(self, mode: str) -> sqlite3.Connection:
        import sqlite3

        if self._exists():
            self._require_regular_file()
            connection = sqlite3.connect(f"{self.path.as_uri()}?{mode}", uri=True, timeout=0, isolation_level=None)
        else:
            connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what was removed is not to be found in the file either
        return connection

    def _exists(self) -> bool:
        """Whether something is there; assumed in a folder that may not be read."""
        try:
            os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # SQLite says why
            return True
        return True

    def _require_regular_file(self) -> None:
        """A pipe in its place would block, and the error for a folder would be misleading."""
        try:
            found = os.stat(self.path).st_mode
        except OSError:  # SQLite says why
            return
        if not stat.S_ISREG(found):
            raise self._unavailable("is not a regular file", _RENAME_IT)

    def _migrate(self, connection: sqlite3.Connection) -> None:
        found, known = migrations.version(connection), len(migrations.MIGRATIONS)
        if found > known:
            what = f"was written by a newer lacli (its layout is {found}, known are {known})"
            raise self._unavailable(what, "update lacli, or " + _RENAME_IT)
        if found == known:
            return
        if found == 0:  # both are written into the file, and can only be before anything else is
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        migrations.migrate(connection)
        connection.execute("COMMIT")

    def _create(self) -> None:
        """Create folder and file, readable by the owner alone: SQLite gives its other files the same mode."""
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
            with locked(self.path, max(0.0, _WaitBudget.left_s)):
                if found is None or found != self._identity():
                    return
                aside = self._free_name()
                for suffix in reversed(_SUFFIXES):
                    with contextlib.suppress(FileNotFoundError):
                        os.rename(f"{self.path}{suffix}", f"{aside}{suffix}")
        except OSError as error:
            raise self._unavailable("is damaged and cannot be moved out of the way") from error
        self._report(f"the log of conversations was damaged: it is kept as {aside}, and a new one was started")

    def _free_name(self) -> Path:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for number in range(1, 1000):
            name = self.path.with_name(f"{self.path.name}.damaged-{stamp}" + (f"-{number}" if number > 1 else ""))
            if not os.path.lexists(name):
                return name
        raise FileExistsError(errno.EEXIST, "no name is free", str(self.path))

    def _unavailable(self, what: str, hint: str = "") -> StoreUnavailable:
        return StoreUnavailable(f"the log of conversations {what}: {self.path}", hint)


def single_row(cursor: sqlite3.Cursor) -> tuple[Any, ...]:
    """The one row there must be; there is none if an index contradicts its table."""
    row: tuple[Any, ...] | None = cursor.fetchone()
    if row is None:
        raise Damaged
    return row


def _name(error: sqlite3.Error) -> str:
    """SQLite's name of the error, without its extended part; empty if Python raised it."""
    name: str = getattr(error, "sqlite_errorname", None) or ""
    return "_".join(name.split("_")[:2])
