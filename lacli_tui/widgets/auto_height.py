"""A widget as wide as there is room, and as high as its lines then need."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget


class AutoHeightWidget(Widget, can_focus=False):
    DEFAULT_CSS = """
    AutoHeightWidget { height: auto; width: 1fr; }
    """

    def lines(self, width: int) -> Sequence[Content]:
        """Its lines at this width."""
        raise NotImplementedError

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines(width))

    def render(self) -> Content:
        return Content("\n").join(self.lines(self.size.width))
