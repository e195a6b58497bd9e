"""What a project's file may set. A repository is written by others, and people run commands in it before reading it.

What shapes the reply and its cost is the project's to say. What could write or send something, read what lies outside,
put words into the model's mouth unseen, hide a warning or loosen what the user decided for privacy is the user's alone,
and so is how things are shown. The keys that may be set are listed, never those that may not: a new option is refused
until somebody has thought about it.
"""

from __future__ import annotations

import os
from typing import Any

from lacli.configuration.remotes import is_remote

_ALLOWED = frozenset(
    (
        *("max-tokens", "temperature", "top-p", "top-k", "seed", "stop", "repetition-penalty", "ctx", "truncate"),
        *("quant", "device", "threads", "window", "ngram", "guesses", "lookahead", "strict", "timeout"),
        *("scope", "max-lines", "prefix-lines", "suffix-lines", "read-ms", "language", "no-context"),
    )
)
"""Keys that are safe with any value, in any table: none of them can do more than make a reply worse or slower."""
_RESTRICTING = {
    **{"no-log": True, "no-learn": True, "offline": True, "sanitize": True, "pool": False},
    "no-instructions": True,
}
"""Keys a project may set in the direction that keeps, fetches or shows less."""

USER_TABLES = ("tui", "keymap", "remotes")
"""Tables that are the user's alone: a project must not say what a key does, nor where questions are sent."""


def refused(key: str, value: Any) -> tuple[str, str] | None:
    """Why a project's file may not set this, and the remedy; None if it may."""
    if key in _ALLOWED:
        return None
    if key in _RESTRICTING:
        wanted = _RESTRICTING[key]
        if value is wanted:
            return None
        return f"a project may only set {key} to {str(wanted).lower()}", "the other way is yours to choose, not its"
    if key == "model":
        if is_remote(str(value)):
            return (
                "a project may not choose a remote",
                "what is asked would leave this computer: name it by -m yourself",
            )
        if not _is_path(str(value)):
            return None
        return "a project may only name a model of `lacli models list`", "files are yours to choose, not a project's"
    return f"a project may not set {key}", "put it into your own file with `lacli config set` if you want it"


def limits(key: str) -> str:
    """What a project's file may do with the key, for the documentation."""
    if key in _ALLOWED:
        return "set it"
    if key in _RESTRICTING:
        return f"set it to {str(_RESTRICTING[key]).lower()}"
    return "name a registered model" if key == "model" else ""


def _is_path(name: str) -> bool:
    """Whether `-m` might read this as a path rather than a registered name."""
    looks_so = "/" in name or os.sep in name or "\\" in name or name.startswith((".", "~"))
    return looks_so or name.lower().endswith(".gguf") or os.path.exists(name)
