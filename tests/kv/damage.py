"""Ways in which a store on disk may be damaged, or its disk be in trouble. Used on the store alone and on replies."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lacli.kv import blocks, store

HEAD = blocks.HEADER_BYTES


@dataclass(frozen=True, slots=True)
class Store:
    """What is damaged: the folder of a project that holds three blocks of one text at least."""

    folder: Path
    patch: pytest.MonkeyPatch

    def block(self, depth: int) -> Path:
        return next(file for file in self.files() if _header(file).depth == depth)

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*" + store.SUFFIX))

    def clear(self) -> None:
        for file in self.files():
            file.unlink()

    def in_place(self, depth: int) -> Path:
        """Where a block was, with nothing there."""
        path = self.block(depth)
        path.unlink()
        return path


Damage = Callable[[Store], None]


def _header(file: Path) -> blocks.Header:
    found = blocks.header(file.read_bytes()[:HEAD])
    assert found is not None
    return found


def _cut(size: int) -> Damage:
    return lambda kept: os.truncate(kept.block(1), size if size >= 0 else kept.block(1).stat().st_size + size)


def _flipped(at: int | float, bit: int = 0) -> Damage:
    def damage(kept: Store) -> None:
        path = kept.block(1)
        data = bytearray(path.read_bytes())
        data[int(at * len(data)) if isinstance(at, float) else at] ^= 1 << bit
        path.write_bytes(data)

    return damage


def _begun(beginning: bytes) -> Damage:
    def damage(kept: Store) -> None:
        path = kept.block(1)
        path.write_bytes(beginning + path.read_bytes()[len(beginning) :])

    return damage


def _swapped(kept: Store) -> None:
    one, other = kept.block(0), kept.block(1)
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def _another_models(kept: Store) -> None:
    """A block whose name is right and whose checksum, too, but of another size."""
    path = kept.block(1)
    payload = b"x" * 999
    path.write_bytes(blocks.packed(path.name.removesuffix(store.SUFFIX), payload, 1, 5.0))


def _many_others(kept: Store) -> None:
    for number in range(50):
        name = f"{number:040x}"
        (kept.folder / (name + store.SUFFIX)).write_bytes(blocks.packed(name, b"y" * 100, number, float("nan")))


def _filled(byte: bytes) -> Damage:
    return lambda kept: _each(kept, lambda path: path.write_bytes(byte * path.stat().st_size))


def _each(kept: Store, what: Callable[[Path], object]) -> None:
    for file in kept.files():
        what(file)


def _socket(kept: Store) -> None:
    path = kept.in_place(1)
    at = os.getcwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(at)


def _instead_of_the_folder(make: Callable[[Path], object]) -> Damage:
    def damage(kept: Store) -> None:
        shutil.rmtree(kept.folder)
        make(kept.folder)

    return damage


def _left_over(make: Callable[[Path], object]) -> Damage:
    """Where this very process would write next."""

    def damage(kept: Store) -> None:
        path = kept.in_place(1)
        make(path.with_name(f".{os.getpid()}-{path.name}.part"))

    return damage


def _fails(name: str, code: int, when: Callable[..., bool]) -> Damage:
    """A function of `os` fails for the files of the store; nothing is stored, so that all is to be written."""

    def damage(kept: Store) -> None:
        real = getattr(os, name)

        def failing(*arguments: Any, **options: Any) -> Any:
            if when(*arguments):
                raise OSError(code, os.strerror(code))
            return real(*arguments, **options)

        kept.patch.setattr(os, name, failing)

    return damage


def _of_store(path: Any, *rest: Any) -> bool:
    return store.SUFFIX in os.fspath(path) if not isinstance(path, int) else False


def _read(path: Any, flags: int = 0, *rest: Any) -> bool:
    return _of_store(path) and not flags & os.O_CREAT


def _written(path: Any, flags: int = 0, *rest: Any) -> bool:
    return _of_store(path) and bool(flags & os.O_CREAT)


def _large(descriptor: int, data: Any) -> bool:
    return len(data) > 512


def _emptied(damage: Damage) -> Damage:
    def both(kept: Store) -> None:
        kept.clear()
        damage(kept)

    return both


def _fails_while_reading(kept: Store) -> None:
    """As a failing disk does: opening goes well, reading does not."""

    def broken(path: Path, *arguments: Any, **options: Any) -> bytes:
        if _of_store(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(path, *arguments, **options)

    real = store.files.read
    kept.patch.setattr(store.files, "read", broken)


def _vanishing(kept: Store) -> None:
    """Gone between the look and the opening: another process makes room."""
    real = os.open

    def late(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if _read(path, flags):
            Path(path).unlink(missing_ok=True)
        return real(path, flags, *rest, **options)

    kept.patch.setattr(os, "open", late)


def _cannot_be_written(kept: Store) -> None:
    """A file system that may only be read."""
    kept.block(2).unlink()
    for name, when in (("open", _written), ("unlink", _of_store), ("utime", _of_store), ("replace", _of_store)):
        _fails(name, errno.EROFS, when)(kept)


def _clock(now: float) -> Damage:
    return lambda kept: kept.patch.setattr(time, "time", lambda: now)


def _dated(when: float) -> Damage:
    return lambda kept: _each(kept, lambda path: os.utime(path, (when, when)))


DAMAGES: dict[str, Damage] = {
    "flipped payload": _flipped(0.5, 7),
    "cut in half": lambda kept: os.truncate(kept.block(1), kept.block(1).stat().st_size // 2),
    "swapped": _swapped,
    "fifo": lambda kept: os.mkfifo(kept.in_place(1)),
    "full while written": _emptied(_fails("write", errno.ENOSPC, _large)),
    "empty": _cut(0),
    "one byte": _cut(1),
    "short of the header": _cut(HEAD - 1),
    "header alone": _cut(HEAD),
    "last byte gone": _cut(-1),
    "longer": lambda kept: os.truncate(kept.block(1), kept.block(1).stat().st_size + 1),
    "huge": lambda kept: os.truncate(kept.block(1), 1 << 40),
    "zeros": _filled(b"\0"),
    "ones": _filled(b"\xff"),
    "flipped magic": _flipped(0),
    "flipped checksum": _flipped(5, 3),
    "flipped depth": _flipped(8, 6),
    "flipped time": _flipped(15, 6),
    "flipped size": _flipped(16, 1),
    "flipped first": _flipped(HEAD),
    "flipped last": _flipped(-1, 5),
    "another version": _begun(b"LKV2"),
    "another format": _begun(b"PK\3\4"),
    "another model's": _another_models,
    "among others": _many_others,
    "folder in place": lambda kept: (kept.in_place(1) / "within").mkdir(parents=True),
    "link in circles": lambda kept: (path := kept.in_place(1)).symlink_to(path),
    "link to nothing": lambda kept: kept.in_place(1).symlink_to("/nowhere/at/all"),
    "link without end": lambda kept: kept.in_place(1).symlink_to("/dev/zero"),
    "link to another block": lambda kept: kept.in_place(1).symlink_to(kept.block(0)),
    "twice": lambda kept: os.link(kept.block(1), kept.folder / ("a" * 40 + store.SUFFIX)),
    "socket": _socket,
    "first one missing": lambda kept: kept.block(0).unlink(),
    "store is a file": _instead_of_the_folder(lambda path: path.write_bytes(b"x")),
    "store is a fifo": _instead_of_the_folder(os.mkfifo),
    "store is a dead link": _instead_of_the_folder(lambda path: path.symlink_to("/nowhere/at/all")),
    "store is gone": _instead_of_the_folder(lambda path: None),
    "left half written": _left_over(lambda path: path.write_bytes(b"half")),
    "left as a folder": _left_over(lambda path: (path / "within").mkdir(parents=True)),
    "left as a link": _left_over(lambda path: path.symlink_to("/nowhere/at/all")),
    "from the future": _dated(9e9),
    "from 1970": _dated(0.0),
    "clock far ahead": _clock(9e9),
    "clock before 1970": _clock(-5.0),
    "unreadable": _fails("open", errno.EACCES, _read),
    "too many open files": _fails("open", errno.EMFILE, _of_store),
    "failing disk": _fails_while_reading,
    "failing while written": _emptied(_fails("write", errno.EIO, _large)),
    "full while renamed": _emptied(_fails("replace", errno.ENOSPC, _of_store)),
    "full while opened": _emptied(_fails("open", errno.EDQUOT, _written)),
    "cannot be written": _cannot_be_written,
    "cannot be dated": _fails("utime", errno.EPERM, _of_store),
    "gone meanwhile": _vanishing,
}
"""By what it is called; the most telling first. Each leaves a store that is to cost time, and nothing else."""
