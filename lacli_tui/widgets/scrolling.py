"""A page to read: arrow keys, page keys, home and end scroll it, with ctrl held as without."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

ENDS: list[BindingType] = [
    Binding("ctrl+home", "scroll_home", show=False),
    Binding("ctrl+end", "scroll_end", show=False),
]


class Page(VerticalScroll):
    """What it is given, below each other."""

    BINDINGS: ClassVar[list[BindingType]] = ENDS
