"""Many lines to read, drawn where they are in view; long ones are wrapped, or go on to the right. Never markup."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lacli_tui.sanitize import visible
from lacli_tui.widgets.scrolling import ENDS

_TAB = 4


class Line(NamedTuple):
    """A line of any number of rows."""

    text: str
    kind: str = ""
    """Its style, as a component class `lines--<kind>`."""
    before: str = ""
    """A prefix of each of its rows."""


class Lines(ScrollView, can_focus=True):
    BINDINGS = ENDS
    COMPONENT_CLASSES = {"lines--added", "lines--gone", "lines--place", "lines--left"}  # noqa: RUF012 - as textual has it
    DEFAULT_CSS = """
    Lines {
        height: 1fr;
        width: 1fr;
        overflow-x: hidden;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 1;
        scrollbar-background: $surface;
        scrollbar-corner-color: $surface;
        &> .lines--added { color: $success; }
        &> .lines--gone { color: $error; }
        &> .lines--place { color: $accent; }
        &> .lines--left { color: $text-muted; text-style: dim; }
    }
    """

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self._lines: list[Line] = []
        self._rows: list[Line] = []
        self._first_rows: list[int] = []
        """For each line."""
        self.wraps = True

    def put(self, lines: Iterable[Line]) -> None:
        """Show these lines, keeping the scroll position."""
        self._lines = [line._replace(text=visible(line.text).expandtabs(_TAB)) for line in lines]
        self._make_rows()

    def reveal(self, first: int, last: int) -> None:
        """Scroll as little as possible to show these lines, or the first of them if there is no room for all."""
        if not self._rows:
            return
        rows = [*self._first_rows, len(self._rows)]
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        wanted = min(max(top, rows[last + 1] - height), rows[first])
        if wanted != top:
            self.scroll_to(y=wanted, animate=False)

    def wrap(self, wraps: bool) -> None:
        """Wrap long lines, or let them go on to the right."""
        self.wraps = wraps
        self.styles.overflow_x = "hidden" if wraps else "auto"
        self._make_rows()

    def on_resize(self, event: Resize) -> None:
        self._make_rows()

    def _make_rows(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        cut = [
            [line._replace(text=row) for row in _cut(line.text, width - cell_len(line.before) if self.wraps else 0)]
            for line in self._lines
        ]
        self._rows = [row for rows in cut for row in rows]
        self._first_rows = list(accumulate(map(len, cut), initial=0))[:-1]
        widest = 0 if self.wraps else max((cell_len(row.before + row.text) for row in self._rows), default=0)
        self.virtual_size = Size(max(width, widest), len(self._rows))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.size.width
        if top + y >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        text, kind, before = self._rows[top + y]
        style = self.rich_style
        if kind:
            style += self.get_component_rich_style(f"lines--{kind}", partial=True)
        strip = Strip([Segment(before, self.rich_style), Segment(text, style)])
        return strip.crop(left, left + width).adjust_cell_length(width, self.rich_style)


def _cut(text: str, width: int) -> list[str]:
    """The text in rows of at most so many cells; in one row for 0 and less."""
    if width <= 0 or (text.isascii() and len(text) <= width):
        return [text]
    rows: list[str] = []
    row: list[str] = []
    used = 0
    for letter in text:
        size = cell_len(letter)
        if used + size > width and row:
            rows.append("".join(row))
            row, used = [], 0
        row.append(letter)
        used += size
    return [*rows, "".join(row)]
