"""A file the user named, written at once or not at all. Called by `deliver`, for -o."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile


def write_file(path: str, data: bytes) -> None:
    """Put `data` into a file at once or not at all; through a link, and with the mode it has. Raises OSError.

    What is no regular file (a device, a named pipe) is written to as it stands.
    """
    real = os.path.realpath(path)
    mode = None
    with contextlib.suppress(FileNotFoundError):
        found = os.stat(real).st_mode
        if not stat.S_ISREG(found):
            with open(real, "wb", buffering=0) as file:
                file.write(data)
            return
        mode = stat.S_IMODE(found)
    folder, name = os.path.split(real)
    try:
        descriptor, beside = tempfile.mkstemp(prefix=f".{name[:40]}.", suffix=".tmp", dir=folder)
    except PermissionError:
        if mode is None:
            raise
        with open(real, "wb") as file:  # a folder that takes no new file, and a file that may be written
            file.write(data)
        return
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, mode if mode is not None else 0o666 & ~_umask())
        os.replace(beside, real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
