"""A pytest plugin: this Python as it is on Windows, without what only POSIX has. Other packages come before: what they
need of POSIX is theirs, as they ask which system it is."""

from __future__ import annotations

import asyncio  # noqa: F401
import multiprocessing  # noqa: F401
import os
import signal
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401

import platformdirs  # noqa: F401

MODULES = ("fcntl", "termios", "tty", "pty", "pwd", "grp")
FUNCTIONS = (
    *("fork", "forkpty", "geteuid", "getgid", "getegid", "getpgrp", "tcgetpgrp", "getloadavg"),
    *("chown", "fchown", "lchown", "sync", "setsid", "statvfs", "listxattr", "register_at_fork"),
    *("O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY"),
)
SIGNALS = ("SIGHUP", "SIGPIPE", "SIGALRM", "setitimer")


def take_away() -> None:
    """From now on importing these fails, and these names are not there."""
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for place, names in ((os, FUNCTIONS), (signal, SIGNALS)):
        for name in names:
            if hasattr(place, name):
                delattr(place, name)


take_away()
