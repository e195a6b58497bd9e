"""Virtual environments for the peers, made from wheels once and kept in the cache folder.

Versions are pinned: figures of different days are then of the same programs. Nothing is ever built from source.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from lacli import paths

_NUMPY = "numpy==2.4.6"


class NotInstalled(Exception):
    """A peer cannot be had here; the message is a line of the table."""


@dataclass(frozen=True, slots=True)
class Package:
    """What a peer's environment holds."""

    name: str
    """On the package index."""
    version: str

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    @property
    def requirements(self) -> tuple[str, ...]:
        """For pip. The worker needs numpy, whether or not the peer does."""
        return f"{self.name}=={self.version}", _NUMPY


XLLAMACPP = Package("xllamacpp", "2026.10.11549")
IK = Package("ik-llama-cpp-python", "0.1.5")


def python_of(package: Package) -> Path:
    """The Python of an environment that has `package`, made where it is not there. Raises NotInstalled."""
    folder = (
        paths.cache_dir() / "peers" / f"{package.name}-{package.version}-py{sys.version_info[0]}{sys.version_info[1]}"
    )
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "complete.json"
    wanted = list(package.requirements)
    if stamp.exists() and json.loads(stamp.read_text(encoding="utf-8")) == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder, with_pip=True)
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *wanted],
            capture_output=True,
            text=True,
            timeout=600,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NotInstalled(f"{package.title} could not be installed: {' '.join(str(error).split())}") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise NotInstalled(f"{package.title} could not be installed: {lines[-1] if lines else 'pip failed'}")
    stamp.write_text(json.dumps(wanted), encoding="utf-8")
    return python
