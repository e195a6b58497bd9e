"""Many lines to read, drawn where they are in view; long ones are wrapped, or go on to the right. Nothing is markup."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lacli_tui.inert import shown
from lacli_tui.widgets.scrolling import ENDS

_TAB = 4


class Lines(ScrollView, can_focus=True):
    """Told its lines at the start; `kind_of` names the look of each, as a component class `lines--<kind>`."""

    BINDINGS = ENDS
    COMPONENT_CLASSES = {"lines--added", "lines--gone", "lines--place", "lines--head"}  # noqa: RUF012 - as textual has it
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
        &> .lines--head { text-style: bold; }
    }
    """

    def __init__(self, lines: Sequence[str], kind_of: Callable[[str], str], id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._lines = [(shown(line).expandtabs(_TAB), kind_of(line)) for line in lines]
        self._rows: list[tuple[str, str]] = []
        self.wraps = True

    def wrap(self, wraps: bool) -> None:
        """Wrap long lines, or let them go on to the right."""
        self.wraps = wraps
        self.styles.overflow_x = "hidden" if wraps else "auto"
        self._make_rows()

    def on_resize(self, event: Resize) -> None:
        """Other widths wrap otherwise."""
        self._make_rows()

    def _make_rows(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        self._rows = [(row, kind) for text, kind in self._lines for row in _cut(text, width if self.wraps else 0)]
        widest = 0 if self.wraps else max((cell_len(row) for row, _ in self._rows), default=0)
        self.virtual_size = Size(max(width, widest), len(self._rows))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """A row of the screen."""
        left, top = self.scroll_offset
        width = self.size.width
        if top + y >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        text, kind = self._rows[top + y]
        style = self.rich_style
        if kind:
            style += self.get_component_rich_style(f"lines--{kind}", partial=True)
        strip = Strip([Segment(text, style)])
        return strip.crop(left, left + width).adjust_cell_length(width, self.rich_style)


def _cut(text: str, width: int) -> list[str]:
    """The text in rows of at most so many cells; in one for 0."""
    if not width or (text.isascii() and len(text) <= width):
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
