"""Replacing a configuration file: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from lacli.errors import UsageError, unwritable
from lacli.storage import atomic


def replace(path: Path, data: bytes, private: bool = True) -> None:
    """Replace the contents of the file, which keeps its mode; if `private`, a new file is readable by its owner only.

    A symbolic link stays one: its target is written.
    """
    target = os.path.realpath(path)
    if os.path.lexists(target) and not os.path.isfile(target):  # the null device stays what it is
        raise UsageError(f"{path} is not a regular file", "name a file to write to")

    def copy_mode(beside: str) -> None:
        with contextlib.suppress(OSError):
            os.chmod(beside, stat.S_IMODE(os.stat(target).st_mode))

    try:
        os.makedirs(os.path.dirname(target), mode=0o700 if private else 0o777, exist_ok=True)
        atomic.put(target, data, 0o600 if private else 0o644, copy_mode)
    except OSError as error:
        raise unwritable(path, error, "check its permissions", UsageError) from None
