"""Replacing a configuration file: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from lacli.errors import UsageError


def replace(path: Path, data: bytes, private: bool = True) -> None:
    """Put these bytes in the place of the file, which keeps its mode; a new one is the owner's alone where `private`.

    A symbolic link stays one: what it leads to is replaced.
    """
    target = Path(os.path.realpath(path))
    if os.path.lexists(target) and not target.is_file():  # the null device stays what it is
        raise UsageError(f"{path} is no regular file", "name a file to write to")
    try:
        target.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
        mode = _mode_of(target, private)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            with contextlib.suppress(OSError):
                os.chmod(name, mode)
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "check its permissions") from None


def _mode_of(target: Path, private: bool) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return 0o600 if private else 0o644
