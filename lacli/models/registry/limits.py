"""What this process may use of the machine: processors and memory, by its affinity and the limits of its container.

A container's limits are those of its control group (version 1 or 2) and of all above it. Where there are none, or their
files cannot be read, the machine's own numbers hold. Imports nothing heavy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
"""The root under which `proc` and the control groups are."""
_ESCAPED = re.compile(r"\\([0-7]{3})")


def cores() -> int:
    """Threads worth starting: one per core, as hyper-threads do not help a step that waits for memory."""
    import psutil

    return min(processors(), psutil.cpu_count(logical=False) or processors())


def processors() -> int:
    """Processors that this process can use at a time."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([allowed, *_quotas()])))


def free_memory() -> int:
    """Free bytes. Page cache counts as free, as it is reclaimed."""
    import psutil

    return max(0, min([int(psutil.virtual_memory().available), *(limit - used for limit, used in _memory_limits())]))


def all_memory() -> int:
    """All bytes of memory."""
    import psutil

    return min([int(psutil.virtual_memory().total), *(limit for limit, _ in _memory_limits())])


def _quotas() -> Iterator[float]:
    """How many processors' time each control group allows."""
    for folder, version in _groups("cpu"):
        if version == 2:
            quota, _, period = _text(folder / "cpu.max").partition(" ")
        else:
            quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
        if quota.isdecimal() and period.isdecimal() and int(period):  # "max" and -1 are no limit
            yield int(quota) / int(period)


def _memory_limits() -> Iterator[tuple[int, int]]:
    """Bytes each control group allows, and how many of them are in use."""
    for folder, version in _groups("memory"):
        names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
        limit, used = (_text(folder / name) for name in names)
        if limit.isdecimal() and used.isdecimal():  # of version 1, no limit is a number beyond all memory
            yield int(limit), max(0, int(used) - _page_cache(folder, "" if version == 2 else "total_"))


def _page_cache(folder: Path, prefix: str) -> int:
    """Bytes of reclaimable page cache."""
    numbers = dict(line.partition(" ")[::2] for line in _text(folder / "memory.stat").splitlines())
    found = (numbers.get(f"{prefix}{name}", "") for name in ("inactive_file", "active_file"))
    return sum(int(number) for number in found if number.isdecimal())


def _groups(controller: str) -> Iterator[tuple[Path, int]]:
    """The folders of this process's control groups for a controller, and their version, from its own upwards."""
    paths: dict[str, str] = {}
    for line in _text(ROOT / "proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        paths.update(dict.fromkeys(controllers.split(","), path))
    for line in _text(ROOT / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        shown, mounted = (_plain(part) for part in [*before.split(), *[""] * 5][3:5])
        kind, _, options = [*after.split(), "", "", ""][:3]
        if kind == "cgroup2":
            name, version = "", 2
        elif kind == "cgroup" and controller in options.split(","):
            name, version = controller, 1
        else:
            continue
        if name in paths:
            top = ROOT / mounted.lstrip("/")
            yield from ((folder, version) for folder in _upwards(top, _below(paths[name], shown)))


def _below(path: str, shown: str) -> str:
    """The path of a group in a mount that shows the tree below `shown`; its top if the group is outside."""
    shown = shown.rstrip("/")
    inside = path == shown or path.startswith(f"{shown}/")
    return path[len(shown) :].strip("/") if inside and ".." not in path.split("/") else ""


def _upwards(top: Path, path: str) -> Iterator[Path]:
    folder = top / path
    yield folder
    while folder != top:
        folder = folder.parent
        yield folder


def _plain(part: str) -> str:
    """A path of mountinfo, which writes blanks as \\040."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), part)


def _text(path: Path) -> str:
    """The content of a system file; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
