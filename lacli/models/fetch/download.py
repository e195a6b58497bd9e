"""Runs a download as a process of its own: it is watched by the size of its files, and ended when nothing arrives.

Knows no model.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import lacli

STALL_S = 18.0
"""A download is given up when nothing arrives for so long."""
_POLL_S = 0.1
_TELL_S = 0.4
"""The callback may raise to end a download, so it is called even when nothing arrives."""

CERTIFICATE_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def variables_in_force(names: Sequence[str], reason: str = "") -> str:
    """The variables of `names` that are set, without passwords; those of certificates if `reason` is about one."""
    if "certificate" in reason.lower() or "ssl" in reason.lower():
        names = [*names, *CERTIFICATE_VARIABLES]
    shown = [f"{name}={re.sub(r'//[^/@]*@', '//', os.environ[name])}" for name in names if os.environ.get(name)]
    return f" ({', '.join(shown)})" if shown else ""


def own_command(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """The command that runs a module of lacli in a child, whatever the current folder and PYTHONPATH hold."""
    root = str(Path(lacli.__file__).resolve().parents[1])
    start = f"import sys; sys.path.append({root!r}); from lacli.models.fetch.{module} import main; sys.exit(main())"
    return [python, "-P", "-c", start, *arguments]


def watched(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    size: Callable[[], int],
    tick: Callable[[int], None],
) -> int | None:
    """Run a child until it ends or `size()` has not grown for STALL_S seconds; its exit status, None where it stalled.

    What the child prints goes into `log`. It never outlives this call, and one that calls `end_with_parent` not this
    process either. Where `tick` raises, it is ended.
    """
    with log.open("wb") as handle:
        child = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.PIPE, stdout=handle, stderr=subprocess.STDOUT
        )
    try:
        most, grown_at, told_at = size(), time.monotonic(), 0.0
        while child.poll() is None:
            now, at = size(), time.monotonic()
            if now > most:
                grown_at = at
            elif at - grown_at > STALL_S:
                return None
            if now > most or at - told_at > _TELL_S:
                most, told_at = max(now, most), at
                tick(most)
            time.sleep(_POLL_S)
        return child.returncode
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        if child.stdin is not None:
            child.stdin.close()


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below `folder`; files that vanish meanwhile are ignored."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_size
    return total
