"""A time as people write it: 30s, 10m, 1h."""

from __future__ import annotations

import re
from typing import Any

from lacli.errors import UsageError

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_MOST_S = 365 * 24 * 3600


def duration(value: str) -> str:
    """Check a time that was given. Raises UsageError."""
    seconds(value)
    return value


duration.check = lambda name, value: duration(value)  # type: ignore[attr-defined]  # for values in a configuration file


def seconds(text: str) -> float:
    """The seconds of a time such as 10m; a bare number is seconds. Raises UsageError."""
    found: Any = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip().lower())
    length = float(found[1]) * _UNITS[found[2]] if found else -1.0
    if not 0 <= length <= _MOST_S:
        raise UsageError(f"--keep-alive {text!r} is no time", "give seconds, minutes or hours: 30s, 10m, 1h; or 0")
    return length
