"""Whether conversations are kept: not from `lacli logs off` to `lacli logs on`. A file in the data folder says so.

A file of its own, so that it holds whatever has become of the log.
"""

from __future__ import annotations

import os

from lacli import paths
from lacli.storage import files

_NAME = "logs.off"


def is_on() -> bool:
    """Whether conversations are kept."""
    return not os.path.lexists(paths.data_dir() / _NAME)


def turn(on: bool) -> None:
    """Turn logging on or off. Raises OSError if the data folder cannot be written."""
    path = paths.data_dir() / _NAME
    if not on:
        files.make_private(path.parent)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    elif os.path.lexists(path):
        os.unlink(path)
