"""Cold start: the first token of `lacli ask` after the start of its process, beside `import torch` alone.

Both are new processes, taken in turn. Nobody's pool is read: the folder is an empty one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

_LACLI = "import sys; from lacli.cli.main import main; sys.exit(main())"
_PROMPT = "Write a Python function that reverses a string."


def cold_starts(count: int, model: str | None = None) -> list[tuple[float, float]]:
    """Seconds to the first byte of a reply, and to the end of `import torch`; the first, uncounted pair warms the
    file cache."""
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count + 1):
            pairs.append((_first_byte(folder, model), _import_torch(folder)))
    return pairs[1:]


def _first_byte(folder: str, model: str | None) -> float:
    started = time.perf_counter()
    command = [sys.executable, "-c", _LACLI, "ask", "--no-pool", "-n", "4", *(("-m", model) if model else ()), _PROMPT]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        first = child.stdout.read(1)
        spent = time.perf_counter() - started
        _, errors = child.communicate()
    if not first:
        lines = errors.decode(errors="replace").strip().splitlines()
        raise RuntimeError(lines[-1] if lines else "lacli ask wrote nothing")
    return spent


def _import_torch(folder: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], cwd=folder, check=True)
    return time.perf_counter() - started
