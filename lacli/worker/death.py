"""How a worker process ended, as an error for the user. Pure but for one look at the system's count of kills."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

from lacli.errors import SMALLER, WorkerDied

STDERR_BYTES = 4096
"""How much of the end of its stderr is kept."""


def misunderstood(reason: str, stderr: str = "") -> WorkerDied:
    """The error for an engine that speaks nonsense, or another version of the protocol."""
    hint = "lacli may have been changed while it ran: leave it and start it again"
    return WorkerDied(f"the engine's process cannot be understood: {reason}", hint, stderr, again=False)


def cause_of_death(status: int, stderr: str, kills_before: int | None) -> WorkerDied:
    """The error for a process that ended with this status, as `subprocess` gives it, and these last words.

    `kills_before` is what `kills_for_memory` said when it was started.
    """
    name = _signal_name(-status) if status < 0 else ""
    killed = name == "SIGKILL"
    kills = kills_for_memory()
    if kills_before is None or kills is None:
        maybe, out_of_memory = "; the system does so where memory runs out", False
    else:
        maybe, out_of_memory = "", kills > kills_before
    if out_of_memory if killed else _reports_no_memory(stderr):
        return WorkerDied("the engine's process ended as memory ran out", SMALLER, stderr)
    if killed:
        hint = f"nothing but the rest of that reply is lost{maybe}"
        return WorkerDied("the engine's process was killed (SIGKILL)", hint, stderr)
    how = f"by signal {name}" if name else f"with exit code {status}"
    return WorkerDied(f"the engine's process ended {how}", _last_line(stderr), stderr)


def kills_for_memory() -> int | None:
    """How many processes the system has killed since boot as memory ran out; None if it does not say."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def _reports_no_memory(stderr: str) -> bool:
    """Whether these are the last words of a library that aborts when memory runs out."""
    return any(each in stderr for each in ("bad_alloc", "MemoryError", "out of memory", "Cannot allocate memory"))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _last_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f"its last words: {lines[-1]}" if lines else ""
