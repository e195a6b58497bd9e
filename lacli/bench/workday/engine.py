"""An engine of `lacli serve` for the hour of work, and the pauses in which it may read ahead."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from lacli.errors import LacliError

_QUIET_S = 1.0
"""A worker that has used no processor for so long is not going to read ahead: it begins within half of that."""
_POLL_S = 0.2
_WAIT_S = 60.0

Rest = Callable[[], None]


@contextlib.contextmanager
def engine(root: Path, variables: Mapping[str, str], pause_s: float) -> Iterator[Rest]:
    """One that runs while the block does; what is yielded waits until its worker is idle, or for `pause_s`."""
    _said(root, variables, "--detach")
    try:
        yield lambda: _rest(_workers(root, variables), pause_s)
    finally:
        _said(root, variables, "--stop")


def _rest(workers: list[int], pause_s: float) -> None:
    """Wait as a person does who reads and types on; where the system does not tell what a process does, all of it."""
    until, quiet_since, used = time.monotonic() + pause_s, time.monotonic(), None
    while (now := time.monotonic()) < until and (used is None or now < quiet_since + _QUIET_S):
        found = [_ticks(pid) for pid in workers]
        if found != used or None in found:
            used, quiet_since = found, now
        time.sleep(_POLL_S)


def _ticks(pid: int) -> int | None:
    """The processor time that a process has used; None where it cannot be told."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(words[11]) + int(words[12])
    except (OSError, ValueError, IndexError):
        return None


def _workers(root: Path, variables: Mapping[str, str]) -> list[int]:
    """The processes that have a model in memory."""
    return [each["pid"] for each in json.loads(_said(root, variables, "--status", "--json")).get("models", ())]


def _said(root: Path, variables: Mapping[str, str], *words: str) -> str:
    """What `lacli serve` prints with these options. Raises LacliError where it fails."""
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "lacli", "serve", *words],
            capture_output=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            cwd=root,
            env=dict(variables),
            timeout=_WAIT_S,
        )
    except subprocess.TimeoutExpired:
        raise LacliError(f"serve {words[0]} did not end within {_WAIT_S:.0f} s") from None
    if ended.returncode:
        raise LacliError(f"serve {words[0]} failed: {(ended.stderr.strip().splitlines() or ['nothing was said'])[-1]}")
    return ended.stdout
