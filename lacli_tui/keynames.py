"""Which keys exist, by Textual's names for them. Pure."""

from __future__ import annotations

import difflib
import unicodedata

from textual.keys import KEY_TO_UNICODE_NAME, REPLACED_KEYS, Keys

_MODIFIERS = ("ctrl", "shift", "alt", "super", "hyper", "meta")
_NAMES = frozenset(key.value.rpartition("+")[2] for key in Keys if key.value[:1] != "<" and "-" not in key.value)
_ALIASES = {"control": "ctrl", "option": "alt", "cmd": "super", "command": "super", "esc": "escape", "return": "enter"}
"""What people call them, and Textual does not."""


def key_problem(key: str) -> str:
    """For a key that no terminal can send, a suggestion of what was meant; empty for others."""
    *modifiers, name = key.split("+") if len(key) > 1 and not key.endswith("+") else [key]
    if name not in _ALIASES and _is_name(name) and all(each in _MODIFIERS for each in modifiers):
        return ""
    near = [_ALIASES.get(each) or next(iter(difflib.get_close_matches(each, _MODIFIERS, 1)), "") for each in modifiers]
    last = _ALIASES.get(name, name)
    if not _is_name(last):
        last = next(iter(difflib.get_close_matches(last, _NAMES, 1)), "")
    return f"did you mean {'+'.join([*near, last])}?" if all((*near, last)) else "a key like 'f12' or 'ctrl+x'"


def _is_name(name: str) -> bool:
    if len(name) == 1 or name in _NAMES or name in KEY_TO_UNICODE_NAME or name in REPLACED_KEYS.values():
        return True
    try:
        unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return False
    return True
