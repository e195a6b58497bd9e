"""The options of a reply that /set can change, by the names of their flags. Pure.

Values are checked by the command line, which has the flags.
"""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any

from lacli.errors import UsageError
from lacli.events import Request

OPTIONS = {
    "temperature": "temperature",
    "top-p": "top_p",
    "top-k": "top_k",
    "repetition-penalty": "repetition_penalty",
    "seed": "seed",
    "max-tokens": "max_tokens",
    "stop": "stops",
    "truncate": "truncate",
}
"""Flags to fields of `Request`."""
USE = "/set temperature 0.7 sets one; none is the default again"


def parse(typed: str) -> tuple[str, str]:
    """Parse an option and its value, empty if there is none. Raises UsageError with the nearest name."""
    name, _, value = typed.partition(" ")
    flag = name.lstrip("-").replace("_", "-").lower()
    if flag not in OPTIONS:
        near = difflib.get_close_matches(flag, OPTIONS, 1)
        raise UsageError(f"there is no option {name}", f"did you mean {near[0]}?" if near else "/set lists them")
    return flag, value.strip()


def changed(request: Request, flag: str, value: Any) -> Request:
    """The request with an option set to a checked value."""
    field: dict[str, Any] = {OPTIONS[flag]: tuple(value or ()) if flag == "stop" else value}
    return dataclasses.replace(request, **field)


def shown(request: Request, flag: str) -> str:
    """The value of an option as text."""
    value = getattr(request, OPTIONS[flag])
    if value is None or value in ("", ()):
        return "none"
    return " ".join(map(repr, value)) if isinstance(value, tuple) else str(value)


def line(request: Request, flag: str) -> str:
    """An option and its value as a line of a table."""
    return f"{flag:20}{shown(request, flag)}"
