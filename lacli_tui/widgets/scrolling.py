"""A page to read: arrow keys, page keys, home and end scroll it, with or without ctrl."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

ENDS: list[BindingType] = [
    Binding("ctrl+home", "scroll_home", show=False),
    Binding("ctrl+end", "scroll_end", show=False),
]


class Page(VerticalScroll):
    BINDINGS: ClassVar[list[BindingType]] = ENDS
