"""A widget as wide as there is room and as high as its lines are then: what keys and pairs have in common."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget


class AutoHeightWidget(Widget, can_focus=False):
    """Says in `lines` what it looks like at a width."""

    DEFAULT_CSS = """
    AutoHeightWidget { height: auto; width: 1fr; }
    """

    def lines(self, width: int) -> Sequence[Content]:
        """All of it."""
        raise NotImplementedError

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """As wide as there is room."""
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as its lines, once they are wrapped."""
        return len(self.lines(width))

    def render(self) -> Content:
        """All lines."""
        return Content("\n").join(self.lines(self.size.width))
