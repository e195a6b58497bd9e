"""ASCII versions of what Textual itself draws with other characters: scroll bars, names of keys."""

from __future__ import annotations

from typing import ClassVar

from textual.scrollbar import ScrollBar, ScrollBarRender

_KEYS = {"⏎": "enter", "␣": "space", "⌫": "bksp", "⇥": "tab", "⎋": "esc", "⇧": "shift+"}
_KEYS |= {"↑": "up", "↓": "down", "←": "left", "→": "right"}


class _WholeCells(ScrollBarRender):
    """A scroll bar whose ends fall on whole cells."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


def use_ascii_scrollbars(plain: bool) -> None:
    """Set how all scroll bars are drawn from now on."""
    ScrollBar.renderer = _WholeCells if plain else ScrollBarRender


def ascii_key(shown: str) -> str:
    """The name of a key, as Textual shows it, in ASCII."""
    return "".join(_KEYS.get(sign, sign) for sign in shown)
