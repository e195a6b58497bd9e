"""Replacing a file as a whole: whoever reads it, and whatever is killed or full, finds the old bytes or the new ones.

Called by what writes files of the user's own: `edits.disk`, `configuration.write`, `sessions export`. What lacli keeps
for itself goes through `pool.files`. Raises OSError, which the callers translate.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NAME_LENGTH = 40
"""Letters of the name that the file beside has, too: names are limited to 255 bytes."""


def _undressed(beside: str) -> None:
    """The new file stays as it was made."""


def replace(path: str, data: bytes, mode: int = 0o600, dress: Callable[[str], None] = _undressed) -> None:
    """Put `data` into the file at `path`, by way of a hidden one beside it; where it fails nothing has changed.

    The new file is made with `mode` (less the umask), and `dress` is called with its path before it takes its place: to
    give it what the old one had.
    """
    folder, base = os.path.split(os.path.abspath(path))
    beside = os.path.join(folder, f".{base[:_NAME_LENGTH]}.lacli-{os.urandom(4).hex()}.tmp")
    descriptor = os.open(beside, _FLAGS, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        dress(beside)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    sync_folder(folder)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make a rename last through a power cut, where the platform lets a folder be opened for it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
