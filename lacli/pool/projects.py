"""The folders of the pools: the small `project.json` in each, and the adoption of the folder of a moved project.

    <pools>/<project id>/project.json                the root, and the first commit where git could tell it
    <pools>/<project id>/<tokenizer>/pool.lacli      a pool, written by `store`

Without a valid record a folder cannot be adopted; nothing else depends on it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacli.project.root import first_commit, project_id
from lacli.storage import atomic, files

POOL_NAME = "pool.lacli"
RECORD_NAME = "project.json"

_ASK_GIT_AGAIN_S = 86_400.0
"""A project without a first commit (new, or git too slow) is asked again after a day."""


@dataclass(frozen=True, slots=True)
class ProjectRecord:
    """The contents of `project.json`."""

    root: Path
    """The project's root when the pool was last written."""
    first_commit: str = ""
    """Empty if unknown."""
    asked_s: float = 0.0
    """When git was last asked for it, in seconds since 1970."""


def read_record(folder: Path) -> ProjectRecord | None:
    """The record in a project's folder; None if it is missing or invalid."""
    try:
        fields: Any = json.loads(files.read(folder / RECORD_NAME, limit=1 << 16))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not isinstance(fields.get("root"), str) or "\0" in fields["root"]:
        return None
    try:  # stored as UTF-8, whatever the locale was
        root = Path(os.fsdecode(fields["root"].encode("utf-8", "surrogateescape")))
        asked = float(fields.get("asked_s", 0))
    except (ValueError, TypeError, OverflowError):
        return None
    commit = fields.get("first_commit")
    return ProjectRecord(root, commit if isinstance(commit, str) else "", asked)


def write_record(folder: Path, root: Path) -> None:
    """Update `project.json` with the project's root and first commit, if they have changed."""
    known = read_record(folder)
    now = time.time()
    same_place = known is not None and known.root == root
    if known is not None and same_place and (known.first_commit or abs(now - known.asked_s) < _ASK_GIT_AGAIN_S):
        return
    commit = first_commit(root) or (known.first_commit if known is not None and same_place else "")
    name = os.fsencode(root).decode("utf-8", "surrogateescape")
    fields = {"root": name, "first_commit": commit or "", "asked_s": round(now)}
    beside = folder / f"{RECORD_NAME}.{os.getpid()}.tmp"
    atomic.replace(folder / RECORD_NAME, json.dumps(fields).encode("ascii"), beside=beside)


def locate(pools: Path, root: Path) -> Path:
    """The folder of this project's pools: its own or, if that does not exist, the one from before it was moved."""
    own = pools / project_id(root)
    if os.path.lexists(own):
        return own
    left = _left_behind(pools)
    if not left:
        return own
    commit = first_commit(root)
    return left.get(commit, own) if commit else own


def adopt(pools: Path, root: Path) -> Path:
    """Like `locate`, but also rename a folder that was found, so that the next run need not search for it."""
    own = pools / project_id(root)
    found = locate(pools, root)
    if found == own:
        return own
    with contextlib.suppress(OSError):
        os.rename(found, own)  # another process may have done it meanwhile
    if not os.path.isdir(own):
        return found
    with contextlib.suppress(OSError):
        write_record(own, root)
    return own


def _left_behind(pools: Path) -> dict[str, Path]:
    """Folders whose project is no longer at its recorded root, by first commit; of several the most recently used."""
    dated: list[tuple[float, str, Path]] = []
    with contextlib.suppress(OSError), os.scandir(pools) as entries:
        for entry in entries:
            record = read_record(Path(entry.path))
            if record is not None and record.first_commit and not os.path.lexists(record.root):
                with contextlib.suppress(OSError):
                    dated.append((entry.stat().st_mtime, record.first_commit, Path(entry.path)))
    return {commit: path for _, commit, path in sorted(dated)}
