"""The options of a reply that /set changes between two, by the names of their flags. Pure.

Whether a value will do is checked by whoever has the flags.
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
"""What each is called in a `Request`."""
USE = "/set temperature 0.7 sets one; none is the default again"


def wish(typed: str) -> tuple[str, str]:
    """Which option is meant, and the value, empty where it is only to be shown. Raises UsageError with the nearest."""
    name, _, value = typed.partition(" ")
    flag = name.lstrip("-").replace("_", "-").lower()
    if flag not in OPTIONS:
        near = difflib.get_close_matches(flag, OPTIONS, 1)
        raise UsageError(f"there is no option {name}", f"did you mean {near[0]}?" if near else "/set lists them")
    return flag, value.strip()


def changed(request: Request, flag: str, value: Any) -> Request:
    """The request with this option set to a value that was checked."""
    field: dict[str, Any] = {OPTIONS[flag]: tuple(value or ()) if flag == "stop" else value}
    return dataclasses.replace(request, **field)


def shown(request: Request, flag: str) -> str:
    """The value of an option, as it is read."""
    value = getattr(request, OPTIONS[flag])
    if value is None or value in ("", ()):
        return "none"
    return " ".join(map(repr, value)) if isinstance(value, tuple) else str(value)


def line(request: Request, flag: str) -> str:
    """An option and its value, below others."""
    return f"{flag:20}{shown(request, flag)}"
