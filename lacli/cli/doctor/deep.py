"""The checks of `lacli doctor --deep`, made by `lacli.bench.gpu_check.deep` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator

from lacli.shared.health import Check
from lacli.worker.process import command_of

_LIMIT_S = 300.0
_KEYS = {"name", "state", "text", "fix"}


def checks() -> Iterator[Check]:
    """Every check as soon as it is done; how the process failed where it did."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command_of("lacli.bench.gpu_check.deep"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=os.path.dirname(sys.executable) or None,  # PyTorch fails in a current folder that was deleted
            )
        except OSError as error:
            yield Check("deep", "warn", f"could not be checked: {error.strerror or error}")
            return
        limit = threading.Timer(_LIMIT_S, process.kill)
        limit.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                check = _read(line)
                if check is not None:
                    yield check
            code = process.wait()
        finally:
            late = limit.finished.is_set()
            limit.cancel()
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if code:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines() or [f"it ended with code {code}"]
            why = f"it took more than {_LIMIT_S:.0f} s" if late else said[-1][:300]
            yield Check("deep", "warn", f"the rest could not be checked: {why}", "see the line `torch` above")


def _read(line: bytes) -> Check | None:
    """None for what a library prints."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return Check(**found) if isinstance(found, dict) and set(found) == _KEYS else None
