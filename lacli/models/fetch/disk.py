"""Locks, free space and content hashes for the models folder. No knowledge of models."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lacli.errors import LacliError, ModelUnavailable, OutOfMemory
from lacli.paths import models_dir
from lacli.storage import atomic, lock

_BLOCK = 1 << 22
_MARGIN = 16 << 20
_WAIT_MOST_S = 3600.0


@contextlib.contextmanager
def locked(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock beside `path`; `on_wait` is called once where another process has it.

    The system drops the lock of a process that dies. File systems without locks get a lock file that names its process.
    """
    make_folder(path.parent)
    name = str(path.with_name(f".{path.name}.lock"))
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(lock.hold(name, _WAIT_MOST_S, poll_s=0.2, on_wait=on_wait, marker=True))
        except TimeoutError:
            raise LacliError(f"another lacli has held {name} for an hour", "end that process and try again") from None
        except OSError as error:
            raise ModelUnavailable(
                f"cannot lock {name}: {error.strerror}", "set LACLI_HOME to a folder you may write to"
            ) from error
        yield


def make_folder(folder: Path) -> None:
    """Create a folder that only the user can read, and its parents."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ModelUnavailable(
            f"cannot create {folder}: {error.strerror}", "set LACLI_HOME to a folder you may write to"
        ) from error


def free_space(folder: Path) -> int:
    """Free bytes on the disk where `folder` is, or will be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def require_space(folder: Path, needed: int) -> None:
    """Raise OutOfMemory if the disk of `folder` has fewer than `needed` bytes left."""
    free = free_space(folder)
    if free < needed + _MARGIN:
        raise OutOfMemory(
            f"not enough disk space in {folder}: {megabytes(needed + _MARGIN)} needed, {megabytes(free)} free",
            "make room there (`lacli models rm` clears old models), or set LACLI_HOME to another disk",
        )


def megabytes(count: int) -> str:
    """A size as people read it: 93 MB, 1.4 GB."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def file_hash(path: Path, tick: Callable[[int, int], None] | None = None) -> str:
    """sha256 of a file's bytes, in hexadecimal."""
    total = path.stat().st_size
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(_BLOCK):
            digest.update(block)
            if tick is not None:
                tick(handle.tell(), total)
    return digest.hexdigest()


def content_hash(paths: Sequence[Path], tick: Callable[[int, int], None] | None = None) -> str:
    """Hash of one file, or of the hashes of several; remembered as long as size and times of a file stay."""
    digests = [_remembered(path, tick) for path in paths]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def known_hash(path: Path) -> str | None:
    """The hash of a file that has not changed since it was last computed; reads none of its bytes."""
    real = Path(os.path.realpath(path))
    if real.parent.name == "blobs" and len(real.name) == 64 and not real.name.strip("0123456789abcdef"):
        return real.name  # the hub's cache names a file by its hash
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(_note(real).read_text(encoding="utf-8"))
        if known["state"] == _state(real):
            return str(known["sha256"])
    return None


def _remembered(path: Path, tick: Callable[[int, int], None] | None) -> str:
    known = known_hash(path)
    if known is not None:
        return known
    real = Path(os.path.realpath(path))
    state, note = _state(real), _note(real)
    digest = file_hash(real, tick)
    with contextlib.suppress(OSError):  # a cache of hashes is not worth failing for
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic.replace(note, json.dumps({"state": state, "sha256": digest}).encode())
    return digest


def _state(real: Path) -> list[str | int]:
    """What changes with a file's content: the change time even if size and modification time are forged."""
    found = real.stat()
    return [str(real), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _note(real: Path) -> Path:
    return models_dir() / "hashes" / f"{hashlib.sha256(str(real).encode()).hexdigest()[:24]}.json"
