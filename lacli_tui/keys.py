"""The keys of actions as the user has set them, and how keys are written on the screen."""

from __future__ import annotations

from typing import Any

from textual.app import App

from lacli_tui.actions import action_of
from lacli_tui.glyphs import is_ascii_terminal
from lacli_tui.textual_private import keymap_of

_KEYS = {
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "question_mark": "?",
    "underscore": "_",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}


def keys_of(id_: str, app: App[Any]) -> list[str]:
    """The keys of this action, as the user has set them."""
    return keymap_of(app).get(id_, action_of(id_).keys).split(",")


def key_name(key: str) -> str:
    """A key as people write it."""
    *held, last = key.split("+")
    name = _KEYS.get(last, last)
    return "+".join([*held, last if not name.isascii() and is_ascii_terminal() else name])


def scroll_keys() -> str:
    """The keys that scroll a page, for the lower edge of its frame."""
    return " ".join([*map(key_name, ("up", "down", "pageup", "pagedown", "home", "end")), "scroll"])
