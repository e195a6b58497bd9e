"""The small file of numbers beside a pool: totals, calibration, what the log holds. Replaced as a whole, never text.

    {"version": 1, "totals": {name: number}, "calibration": {name: [number, ...]},
     "held": {"tokens": n, "segments": n, "bytes": size of the log when that was so, "value": v, "value_ms": t,
              "hits": n, "oldest_ms": t, "newest_ms": t}}

Losing it does no harm, so whatever cannot be decoded is ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacli.storage import atomic, files

NAME = "numbers.json"
VERSION = 1

_LIMIT = 1 << 20
_MOST_NAMES = 256
_MOST_NUMBERS = 8_192
_NAME = re.compile(r"[A-Za-z0-9_.:/+-]{1,64}")
_HIGHEST = 1e15


@dataclass(frozen=True, slots=True)
class Numbers:
    """The contents of the file."""

    totals: dict[str, float] = field(default_factory=dict)
    calibration: dict[str, list[float]] = field(default_factory=dict)
    held: dict[str, float] = field(default_factory=dict)
    future: bool = False
    """Written by a newer lacli, and therefore left alone."""


def read(path: Path) -> Numbers:
    """Read a file; what is missing or invalid in it is left out."""
    try:
        return parse(files.read(path, limit=_LIMIT))
    except OSError:
        return Numbers()


def parse(text: bytes) -> Numbers:
    """Parse the contents of a file; see `read`."""
    try:
        fields: Any = json.loads(text)
    except (ValueError, RecursionError):
        return Numbers()
    if not isinstance(fields, dict):
        return Numbers()
    version = fields.get("version")
    if not isinstance(version, int) or version > VERSION:
        return Numbers(future=isinstance(version, int))
    calibration = fields.get("calibration")
    return Numbers(
        added({}, fields.get("totals")),
        replaced({}, calibration if isinstance(calibration, dict) else {}),
        added({}, fields.get("held")),
    )


def added(totals: Mapping[str, float], more: Any) -> dict[str, float]:
    """The sums of both; invalid names and values are left out."""
    sums = dict(totals)
    for name, value in (more if isinstance(more, Mapping) else {}).items():
        known = name in sums or len(sums) < _MOST_NAMES
        if known and _named(name) and _number(value):
            sums[name] = min(_HIGHEST, sums.get(name, 0.0) + value)
    return sums


def replaced(calibration: Mapping[str, list[float]], newer: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """The calibration updated with newer numbers, source by source."""
    joined = dict(calibration)
    room = _MOST_NUMBERS - sum(map(len, joined.values()))
    for name, numbers in newer.items():
        if not _named(name) or isinstance(numbers, str | bytes) or not isinstance(numbers, Sequence):
            continue
        if not all(map(_number, numbers)) or (name not in joined and len(joined) >= _MOST_NAMES):
            continue
        room += len(joined.get(name, ())) - len(numbers)
        if room < 0:
            room += len(numbers)
            joined.pop(name, None)
        else:
            joined[name] = [float(f"{number:.6g}") for number in numbers]
    return joined


def write(path: Path, numbers: Numbers) -> None:
    """Replace the file. Raises OSError."""
    fields = {
        "version": VERSION,
        "totals": {name: round(value, 3) for name, value in numbers.totals.items()},
        "calibration": numbers.calibration,
        "held": {name: round(value, 3) for name, value in numbers.held.items()},
    }
    atomic.replace(path, json.dumps(fields).encode("ascii"), beside=path.with_name(f"{path.name}.tmp"))


def _named(name: Any) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _HIGHEST  # False for NaN
