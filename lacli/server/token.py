"""The token that every request over TCP must have: a file of the user's alone, made once and kept.

Who can read it can ask; there is no other right. Nothing of HTTP.
"""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from lacli import paths
from lacli.errors import LacliError, unwritable
from lacli.storage import atomic, files

_BYTES = 32
_LIMIT = 1 << 12


def token_file() -> Path:
    """Where it is kept."""
    return paths.state_dir() / "http-token"


def own_token() -> str:
    """The token of this user, made where there is none. Raises LacliError where it can be neither read nor made."""
    path = token_file()
    try:
        files.make_private(path.parent)
        known = _read(path)
        if known:
            return known
        # Two servers that start at once: who links the file first has made the token for both.
        with contextlib.suppress(FileExistsError):
            atomic.create(str(path), secrets.token_urlsafe(_BYTES).encode() + b"\n")
        return _read(path)
    except OSError as error:
        raise unwritable(path, error, "check who owns that folder") from error


def _read(path: Path) -> str:
    """What the file has; nothing where there is none."""
    try:
        files.restrict(path, 0o600)
        known = files.read(path, limit=_LIMIT).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
    if not known:
        raise LacliError(f"{path} is empty", "remove it: the next start makes a new token")
    return known
