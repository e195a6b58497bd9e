"""Access to a pool's files under their lock: every failure becomes one notice for the user, and the session goes on.

Damaged files are set aside, under the lock and only after being read again; files of a newer lacli are left alone. If a
file cannot be read, locked or written, learning ends for this session.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias, TypeVar

from lacli.pool.format import Damage, Record
from lacli.pool.journal import DamagedFile, Journal, NewRecords
from lacli.storage import files
from lacli.storage.lock import locked

LOCK_WAIT_S = 2.0

_STOPPED = "nothing is learned in this session"

_Read = TypeVar("_Read")
_Decode: TypeAlias = Callable[[list[Record], int], tuple[_Read, Damage | None]]
"""Decodes records whose ids are below a vocabulary size; also returns their first defect."""


class GuardedFiles:
    """Reads and writes the files of one pool under their common lock, and collects notices for the user."""

    def __init__(self, path: Path, learns: bool, read_limit: int, is_warm: Callable[[], bool]) -> None:
        """path: the file whose lock it is; read_limit: in bytes; is_warm: whether anything useful has been read."""
        self.notices: list[str] = []
        self.learns = learns
        self._path = path
        self._read_limit = read_limit
        self._is_warm = is_warm
        self._holds_lock = False

    def read(self, file: Journal, decode: _Decode[_Read]) -> _Read | None:
        """Read and decode a whole file. On failure None, with a notice."""
        try:
            return self._read(file, decode)
        except DamagedFile as found:
            damage = found.damage
        except FileNotFoundError:
            if file.path.is_symlink():
                self.stop(f"{file.title} is a link that leads nowhere: {file.path}")
            return None
        except files.NotRegular as error:
            damage = Damage("foreign", f"is {error.strerror}", 0)
        except OSError as error:
            self.stop(f"the pool cannot be read ({reason(error)})")
            return None
        file.forget()
        if damage.kind == "future" or not self.learns:
            self.stop(f"{file.title} {damage.text}: {file.path}")
            return None
        try:
            with self._lock():
                return self._read_again(file, decode, damage)
        except FileNotFoundError:
            pass
        except TimeoutError:
            self.stop("another lacli keeps the pool locked")
        except OSError as error:
            self.stop(f"{file.title} {damage.text} and cannot be set aside ({reason(error)})")
        return None

    def _read(self, file: Journal, decode: _Decode[_Read]) -> _Read:
        records = file.read_all(self._read_limit).records
        assert file.header is not None  # otherwise it has raised
        decoded, damage = decode(records, file.header.vocab_size)
        if damage is not None:
            raise DamagedFile(damage)
        return decoded

    def _read_again(self, file: Journal, decode: _Decode[_Read], damage: Damage) -> _Read | None:
        """Under the lock, read again, as another process may have repaired the file; if still damaged, set it aside."""
        try:
            return self._read(file, decode)
        except DamagedFile as found:
            self._set_aside(file, found.damage)
        except files.NotRegular:
            self._set_aside(file, damage)
        return None

    def read_on(self, file: Journal) -> NewRecords:
        """Under the lock, read the records not known yet. `file.header` is then None if the file must be created."""
        try:
            return file.read_on(self._read_limit)
        except FileNotFoundError:
            if file.path.is_symlink():
                raise
            file.forget()  # cleared by the user meanwhile: do not restore its contents
        except DamagedFile as found:
            self._set_aside(file, found.damage)
        return NewRecords([], from_start=True)

    def write(self, work: Callable[[], None]) -> bool:
        """Call `work` under the lock. On failure False, with a notice."""
        try:
            files.make_private(self._path.parent)
            with self._lock():
                work()
            return True
        except TimeoutError:
            self.stop("another lacli keeps the pool locked")
        except OSError as error:
            self.stop(f"the pool cannot be written ({reason(error)})")
        return False

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the lock; reentrant."""
        if self._holds_lock:
            yield
            return
        with locked(self._path, LOCK_WAIT_S):
            self._holds_lock = True
            try:
                yield
            finally:
                self._holds_lock = False

    def _set_aside(self, file: Journal, damage: Damage) -> None:
        """Under the lock: rename the damaged file and add a notice."""
        file.forget()
        if damage.kind == "future":
            self.stop(f"{file.title} {damage.text}: {file.path}")
            return
        aside = file.set_aside()
        self.notices.append(f"{file.title} {damage.text}; starting with an empty one, the old one is kept as {aside}")

    def stop(self, why: str) -> None:
        """Stop writing for this session, with a notice that says why."""
        remembered = f"; what was read before is used, {_STOPPED}" if self._is_warm() else f"; {_STOPPED}"
        self.notices.append(why + remembered)
        self.learns = False


def reason(error: OSError) -> str:
    """The system's error message with the file's name."""
    return (error.strerror or type(error).__name__) + (f": {error.filename}" if error.filename else "")
