"""What a project's prompts came to in the KV cache, kept on disk: what was read once is not computed again.

Beside the pool, and as private: it holds what was asked in another form. A file a block (`blocks`), written beside its
place and renamed, so that a killed process, a full disk or a second process cost time and nothing else. Nothing here
raises: a store that cannot be used ends with one notice.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import stat
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lacli.kv import blocks
from lacli.storage import atomic, files

SUFFIX = ".kv"
_LEAST_GAIN = 3.0
"""A block is kept where computing it took so many times what reading it back is expected to take."""
_READ_BYTES_PER_MS = 1_000_000.0
_OPEN_MS = 0.3
_WRITTEN_S = 60.0
"""A block that has been half written for longer is what a killed process left."""
_PART = ".part"
_FADING_S = 60.0
"""A block that was of use so long ago counts half, twice as long ago a third, and so on."""

_File = tuple[Path, os.stat_result]


class Blocks(Protocol):
    """A KV cache whose positions can be taken out and put back, bit for bit, in whole blocks."""

    @property
    def position_bytes(self) -> int:
        """Bytes of one position."""
        ...

    def kv_bytes(self, first: int, count: int) -> bytes:
        """Keys and values of these positions; both numbers are multiples of 64."""
        ...

    def put_kv_bytes(self, first: int, count: int, data: memoryview) -> None:
        """Make them the positions behind `first`, which is the length; it grows by `count`."""
        ...


@dataclass(frozen=True, slots=True)
class Caps:
    """Most bytes of one project, and of all."""

    project_bytes: int = 512_000_000
    total_bytes: int = 2_000_000_000

    @classmethod
    def of_megabytes(cls, project: float | None, total: float | None) -> Caps:
        """As these settings say; None leaves the default."""
        given = {"project_bytes": project, "total_bytes": total}
        return cls(**{name: round(size * 1_000_000) for name, size in given.items() if size is not None})


class KvStore:
    """The blocks of one project that one model can use."""

    def __init__(self, folder: Path, seed: bytes, caps: Caps) -> None:
        """folder: the project's, below the one of all; seed: what names model, weights, arithmetic and format."""
        self.notices: list[str] = []
        self._folder = folder
        self._seed = seed
        self._caps = caps
        self.ms_per_token = 0.0
        """What the blocks restored last took to compute; 0 where there were none."""
        self._is_usable = True
        self._room_made = False

    @property
    def gave_up(self) -> bool:
        """Whether writing failed, after which this object neither reads nor writes."""
        return not self._is_usable

    def has_behind(self, token_ids: Sequence[int], held: int) -> bool:
        """Whether the block behind the `held` positions, a multiple of 64, is stored."""
        known = blocks.names(self._seed, token_ids[: len(token_ids) - 1])[held // blocks.POSITIONS :]
        return self._is_usable and bool(known) and os.path.lexists(self._folder / (known[0] + SUFFIX))

    def stored(self, token_ids: Sequence[int], held: int = 0) -> int:
        """How many positions `restore` would get to. Nothing is read, so that damage is found out only by that."""
        if self._is_usable:
            for number, name in enumerate(blocks.chain(self._seed, token_ids[: len(token_ids) - 1])):
                if number * blocks.POSITIONS >= held:
                    if not os.path.lexists(self._folder / (name + SUFFIX)):
                        break
                    held += blocks.POSITIONS
        return held

    def restore(self, cache: Blocks, token_ids: Sequence[int], held: int) -> int:
        """Put what is stored of these ids behind the `held` positions, a multiple of 64, that the cache has of them.

        Never all of them: the last one is left to be computed, for its scores. Returns the positions there are now.
        """
        if not self._is_usable:
            return held
        size = blocks.POSITIONS * cache.position_bytes
        known = blocks.names(self._seed, token_ids[: len(token_ids) - 1])
        first = held // blocks.POSITIONS
        for place, name in enumerate(known[first:], start=first):
            payload = self._read(name, size)
            if payload is None:  # what was damaged with it gives way now, too, rather than one block a process
                for later in known[place + 1 :]:
                    self._read(later, size)
                break
            cache.put_kv_bytes(held, blocks.POSITIONS, payload)
            held += blocks.POSITIONS
        self._used(known[: held // blocks.POSITIONS])
        return held

    def _used(self, names: Sequence[str]) -> None:
        """Note that these blocks of one text were of use now: the first one last, as all others need it."""
        for name in reversed(names):
            with contextlib.suppress(OSError):  # a disk that can only be read serves, too
                os.utime(self._folder / (name + SUFFIX))

    def _read(self, name: str, size: int) -> memoryview | None:
        """A block's payload, of `size` bytes; None where there is none, or what is there gives way to a new one."""
        path = self._folder / (name + SUFFIX)
        try:
            data = files.read(path, limit=blocks.HEADER_BYTES + size)
        except FileNotFoundError:  # gone since it was looked for, at the latest
            return None
        except OSError:
            data = b""
        payload, head = blocks.unpacked(name, data, size), blocks.header(data)
        if payload is None or head is None:
            with contextlib.suppress(OSError):
                _remove(path)
            return None
        self.ms_per_token = head.ms / blocks.POSITIONS
        return payload

    def keep(self, cache: Blocks, token_ids: Sequence[int], ms_per_token: float) -> int:
        """Store the whole blocks of these ids, which the cache holds, that are not there yet; returns how many."""
        size = blocks.POSITIONS * cache.position_bytes
        ms = ms_per_token * blocks.POSITIONS
        if not self._is_usable or ms < _LEAST_GAIN * (_OPEN_MS + size / _READ_BYTES_PER_MS):
            return 0
        written = 0
        try:
            files.make_private(self._folder)
            names = blocks.names(self._seed, token_ids)
            for depth, name in enumerate(names):
                path = self._folder / (name + SUFFIX)
                if not _is_whole(path, blocks.HEADER_BYTES + size):
                    _remove(path)
                    payload = cache.kv_bytes(depth * blocks.POSITIONS, blocks.POSITIONS)
                    beside = path.with_name(f".{os.getpid()}-{path.name}{_PART}")
                    atomic.replace(path, blocks.packed(name, payload, depth, ms), beside=beside, durable=False)
                    written += 1
            self._used(names)
            if written:
                self._make_room()
        except OSError as error:
            self._is_usable = False
            self.notices.append(f"what was read is not kept in this session: {error.strerror or error}")
        return written

    def _make_room(self) -> None:
        """Bring the project under its cap, and once a session all projects under theirs.

        Without a lock: two processes at once find the same blocks to be of least use.
        """
        shrink([self._folder], self._caps.project_bytes)
        if not self._room_made:
            self._room_made = True
            everything = projects(self._folder.parent)
            _sweep(everything)
            shrink(everything, self._caps.total_bytes)


@dataclass(frozen=True, slots=True)
class Size:
    """What is stored somewhere."""

    count: int = 0
    bytes: int = 0

    @property
    def positions(self) -> int:
        """Tokens whose keys and values are kept."""
        return self.count * blocks.POSITIONS


def projects(root: Path) -> list[Path]:
    """The folders of all projects below the one of all."""
    with contextlib.suppress(OSError):
        return sorted(each for each in root.iterdir() if each.is_dir() and not each.is_symlink())
    return []


def size(folders: Sequence[Path]) -> Size:
    """How much lies in these folders."""
    found = [status.st_size for folder in folders for _, status in _files(folder)]
    return Size(len(found), sum(found))


def clear(folder: Path) -> Size:
    """Delete everything kept of a project; returns what that was. Raises OSError for what cannot be deleted, after all
    else is."""
    gone, failure = size([folder]), None
    for path, _ in list(_files(folder)):
        try:
            _remove(path)
        except OSError as error:
            failure = error
    if failure is not None:
        raise failure
    with contextlib.suppress(OSError):
        folder.rmdir()
    return gone


def shrink(folders: Sequence[Path], cap: int) -> int:
    """Delete what saves least for its size until the folders' files fit into `cap` bytes; returns the bytes freed."""
    found = [each for folder in folders for each in _files(folder)]
    excess = sum(status.st_size for _, status in found) - cap
    if excess <= 0:
        return 0
    freed = 0
    whole = [each for each in found if not each[0].name.endswith(_PART)]  # another process writes the others
    for path, status in _least_useful_first(whole):
        if freed >= excess:
            break
        with contextlib.suppress(OSError):  # what cannot be deleted stays, and others go in its place
            _remove(path)
            freed += status.st_size
    return freed


def shrink_all(root: Path, caps: Caps) -> int:
    """Bring every project below the folder of all under its cap, and all of them under theirs; the bytes freed.

    What killed processes left half written goes, too.
    """
    folders = projects(root)
    return (
        _sweep(folders)
        + sum(shrink([folder], caps.project_bytes) for folder in folders)
        + shrink(folders, caps.total_bytes)
    )


def _least_useful_first(found: Sequence[_File]) -> list[_File]:
    """By the milliseconds that a byte saves, less the longer ago it was of use; of equals the deeper one goes first.

    What took long may have been computed beside other programs, so blocks of a size, which one model made, count alike:
    among them it is the time of their last use that decides.
    """
    heads = {path: _head(path) for path, _ in found}
    times: dict[int, list[float]] = {}
    for path, status in found:
        if (head := heads[path]) is not None:
            times.setdefault(status.st_size, []).append(head.ms)
    saved = {size: statistics.median(those) / size for size, those in times.items()}
    now = time.time()

    def worth(each: _File) -> tuple[float, int]:
        path, status = each
        head = heads[path]
        if head is None:
            return 0.0, 0
        return saved[status.st_size] / (1 + abs(now - status.st_mtime) // _FADING_S), -head.depth

    return sorted(found, key=worth)


def _head(path: Path) -> blocks.Header | None:
    """What a file says of itself; None where it is no block."""
    try:
        found = blocks.header(files.read(path, size=blocks.HEADER_BYTES))
    except OSError:
        return None
    return found if found is not None and math.isfinite(found.ms) else None


def _files(folder: Path) -> Iterator[_File]:
    """The blocks in a folder, and what a killed process left of one."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((SUFFIX, SUFFIX + _PART)):
                with contextlib.suppress(OSError):
                    yield Path(entry.path), entry.stat(follow_symlinks=False)


def _sweep(folders: Sequence[Path]) -> int:
    """Delete what killed processes left half written, also where the clock was set since; the bytes freed."""
    freed, now = 0, time.time()
    for path, status in [each for folder in folders for each in _files(folder)]:
        if path.name.endswith(_PART) and abs(now - status.st_mtime) > _WRITTEN_S:
            with contextlib.suppress(OSError):
                _remove(path)
                freed += status.st_size
    return freed


def _is_whole(path: Path, size: int) -> bool:
    """Whether there is a file of this size; what is in it is found out when it is read."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == size


def _remove(path: Path) -> None:
    """Delete a block, or whatever lies in its place. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
