"""The base of widgets that draw their rows themselves: drawn rows are cached, and mouse selections shown."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget


class LineWidget(Widget):
    """As wide as there is room; only rows in view are drawn, by `_draw_row`, and only once while they stay the same."""

    def __init__(self) -> None:
        super().__init__()
        self._strips: dict[int, Strip] = {}
        """The rows drawn so far; to be removed when they change."""
        self._width = 0
        """The width the rows were made for."""

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def notify_style_update(self) -> None:
        self._strips.clear()
        super().notify_style_update()

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips.clear()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        strip = self._strips.get(y)
        if strip is None:
            strip = self._strips[y] = self._draw_row(y)
        return strip

    def _draw_row(self, y: int) -> Strip:
        raise NotImplementedError

    def _finish_row(self, strip: Strip, y: int) -> Strip:
        """The row with its selected part, as wide as the widget; y counts as selections do."""
        if (selection := self.text_selection) is not None:
            style = self.screen.get_component_rich_style("screen--selection")
            strip = selected(strip, selection.get_span(y), style)
        return strip.adjust_cell_length(self.size.width, self.rich_style).apply_offsets(0, y)


def selected(strip: Strip, span: tuple[int, int] | None, style: Style) -> Strip:
    """The row with a span of characters in this style; an end below 0 is the row's end."""
    if span is None:
        return strip
    start, end = span
    text = strip.text
    left = cell_len(text[:start])
    right = cell_len(text) if end < 0 else cell_len(text[:end])
    if left >= right:
        return strip
    width = strip.cell_length
    before, inside, after = strip.crop(0, left), strip.crop(left, right), strip.crop(right, width)
    marked = Segment.apply_style(inside, post_style=style)
    return Strip.join([before, Strip(marked, right - left), after])
