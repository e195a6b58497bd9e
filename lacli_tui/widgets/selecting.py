"""What the mouse has selected of a row that is drawn by itself. Pure."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip


def selected(strip: Strip, span: tuple[int, int] | None, style: Style) -> Strip:
    """The row with the characters of a span in this style, over their own; an end below 0 is the row's end."""
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
