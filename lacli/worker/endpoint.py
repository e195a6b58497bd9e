"""Where the engine that serves many commands is reached, who may, and what must be equal on both sides of its socket.

Read by the front end that looks for one and by the engine that listens. Creates nothing.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import zlib
from pathlib import Path

import lacli
from lacli import paths
from lacli.errors import LacliError
from lacli.storage.lock import lock_file

_PREFIXES = ("HF_", "TRANSFORMERS_", "OMP_", "MKL_", "TORCH_", "PIP_")
_NAMES = frozenset(
    (
        *("HOME", "LACLI_KERNEL", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    )
)
"""Variables, in either case, that change what a model's process does and that no setting carries."""


def supported() -> bool:
    """Whether this system has sockets with a path."""
    return hasattr(socket, "AF_UNIX")


def socket_path() -> Path:
    """The socket of the engine for this user's folders and this installation of lacli. Raises LacliError."""
    return paths.runtime_dir() / f"engine-{_identity():08x}.sock"


def lock_path() -> Path:
    """The file that an engine keeps locked while it runs, with its process id in it. Raises LacliError."""
    return socket_path().with_suffix(".lock")


def open_lock(flags: int = os.O_RDONLY) -> int:
    """Open the lock file, never waiting for what may stand in its place. Raises OSError; LacliError where that is no
    file."""
    path = lock_path()
    more = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | more, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise LacliError(f"{path} is no file", f"remove {path}")
    return descriptor


def running_pid() -> int | None:
    """The process that holds the lock of an engine here, whether it answers or not; None where none does."""
    try:
        with open(open_lock(), "rb") as file:
            if lock_file(file):
                return None
            pid = int(file.read(20) or 0)
            return pid if pid > 1 else None
    except (OSError, ValueError, LacliError):
        return None


def environment() -> dict[str, str]:
    """Fingerprints of the variables that must be equal, by name. Never their values: some are tokens."""
    return {
        name: f"{zlib.crc32(value.encode(errors='surrogateescape')):08x}"
        for name, value in sorted(os.environ.items())
        if name.upper() in _NAMES or name.startswith(_PREFIXES)
    }


def peer_uid(connection: socket.socket) -> int | None:
    """The user at the other end of a connection; None where the system does not say."""
    if hasattr(socket, "SO_PEERCRED"):
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", found)[1])
    import ctypes

    system = ctypes.CDLL(None)
    if not hasattr(system, "getpeereid"):
        return None
    uid, gid = ctypes.c_uint32(), ctypes.c_uint32()
    failed = system.getpeereid(connection.fileno(), ctypes.byref(uid), ctypes.byref(gid))
    return None if failed else uid.value


def is_ours(connection: socket.socket) -> bool:
    """Whether the other end belongs to the same user."""
    return peer_uid(connection) in (None, os.getuid())


def _identity() -> int:
    """Of the folders an engine works with, and of its program: two checkouts have an engine each."""
    parts = (paths.cache_dir(), paths.config_dir(), paths.state_dir(), Path(lacli.__file__).resolve().parent)
    return zlib.crc32("\0".join(map(str, parts)).encode(errors="surrogateescape"))
