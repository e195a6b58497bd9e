"""What may go wrong with a pool's files, turned into one line and a session that goes on: for `store`.

Damaged files are set aside, under the lock and after a second look; those of a newer lacli stay as they are; whatever
cannot be read, locked or written ends the learning of this session.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias, TypeVar

from lacli.pool.format import Damage, Record
from lacli.pool.journal import Journal, News, Unusable
from lacli.storage import files
from lacli.storage.lock import locked

LOCK_WAIT_S = 2.0

_STOPPED = "nothing is learned in this session"

_Read = TypeVar("_Read")
_Understand: TypeAlias = Callable[[list[Record], int], tuple[_Read, Damage | None]]
"""What records of ids below a number amount to, and what is wrong with them."""


class Keeper:
    """The lock of one pool, whether it is written, and what the user is to hear."""

    def __init__(self, path: Path, learns: bool, read_limit: int, is_warm: Callable[[], bool]) -> None:
        """path: what the lock lies beside; read_limit: bytes; is_warm: whether something was read that is of use."""
        self.notices: list[str] = []
        self.learns = learns
        self._path = path
        self._read_limit = read_limit
        self._is_warm = is_warm
        self._holds_lock = False

    def read(self, file: Journal, understand: _Understand[_Read]) -> _Read | None:
        """All of a file, as `understand` makes it of records and vocabulary; None, and one line, if that fails."""
        try:
            return self._read(file, understand)
        except Unusable as found:
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
                return self._second_look(file, understand, damage)
        except FileNotFoundError:
            pass
        except TimeoutError:
            self.stop("another lacli keeps the pool locked")
        except OSError as error:
            self.stop(f"{file.title} {damage.text} and cannot be set aside ({reason(error)})")
        return None

    def _read(self, file: Journal, understand: _Understand[_Read]) -> _Read:
        records = file.read_all(self._read_limit).records
        assert file.header is not None  # else it would have raised
        understood, damage = understand(records, file.header.vocab_size)
        if damage is not None:
            raise Unusable(damage)
        return understood

    def _second_look(self, file: Journal, understand: _Understand[_Read], damage: Damage) -> _Read | None:
        """Under the lock: another process may have put it right; else out of the way with it."""
        try:
            return self._read(file, understand)
        except Unusable as found:
            self._put_away(file, found.damage)
        except files.NotRegular:
            self._put_away(file, damage)
        return None

    def read_on(self, file: Journal) -> News:
        """Under the lock, what a file holds beyond what is known. It has no header where a new one is to be made."""
        try:
            return file.read_on(self._read_limit)
        except FileNotFoundError:
            if file.path.is_symlink():
                raise
            file.forget()  # cleared by the user meanwhile: what it held is not written again
        except Unusable as found:
            self._put_away(file, found.damage)
        return News([], anew=True)

    def write(self, work: Callable[[], None]) -> bool:
        """Do it under the lock; False, and one line, if that failed."""
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
        """The lock, also where it is held already."""
        if self._holds_lock:
            yield
            return
        with locked(self._path, LOCK_WAIT_S):
            self._holds_lock = True
            try:
                yield
            finally:
                self._holds_lock = False

    def _put_away(self, file: Journal, damage: Damage) -> None:
        """Under the lock: out of the way with it, and say so."""
        file.forget()
        if damage.kind == "future":
            self.stop(f"{file.title} {damage.text}: {file.path}")
            return
        aside = file.set_aside()
        self.notices.append(f"{file.title} {damage.text}; starting with an empty one, the old one is kept as {aside}")

    def stop(self, why: str) -> None:
        """No more writing in this session; said once."""
        remembered = f"; what was read before is used, {_STOPPED}" if self._is_warm() else f"; {_STOPPED}"
        self.notices.append(why + remembered)
        self.learns = False


def reason(error: OSError) -> str:
    """What the system said, and of which file."""
    return (error.strerror or type(error).__name__) + (f": {error.filename}" if error.filename else "")
