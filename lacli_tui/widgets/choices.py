"""A list to choose from, drawn row by row, however long. Nothing in it is markup.

The screen that holds it handles the keys (`move`, `page`, `to_end`); it never has the focus, so that what is typed goes
into the search field above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, get_character_cell_size
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from lacli_tui.glyphs import to_terminal
from lacli_tui.sanitize import visible
from lacli_tui.widgets.rows import Part, cut, width_of

_LEAST_TITLE = 18
"""The least cells left to a title; then the cells beside it are dropped."""
_CURSOR = "$block-cursor-blurred-foreground on $block-cursor-blurred-background"


@dataclass(frozen=True, slots=True)
class Choice:
    key: str
    title: str
    cells: tuple[Part, ...] = ()
    """Beside the title, in columns; the last ones are dropped first if there is no room."""
    note: str = ""
    """A second line."""
    marks: tuple[int, ...] = ()
    """The characters of the title that match the query."""
    keeps_end: bool = False
    """Whether a title that is too long loses its beginning: the end of a path tells more."""
    style: str = ""


class Choices(Widget, can_focus=False):
    """Filled by `show`; posts `Moved` and `Chosen`."""

    DEFAULT_CSS = """
    Choices { height: 1fr; width: 1fr; }
    """

    class Moved(Message):
        """Another line was marked."""

    class Chosen(Message):
        """A line was clicked."""

    def __init__(self, id: str | None = None, empty: str = "nothing here") -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self._choices: Sequence[Choice] = ()
        self._empty = empty
        self._at = 0
        self._top = 0
        self._columns: list[int] = []
        self._height = 1

    @property
    def current(self) -> Choice | None:
        """The marked line."""
        return self._choices[self._at] if self._choices else None

    @property
    def choices(self) -> Sequence[Choice]:
        return self._choices

    @property
    def place(self) -> str:
        """Where the mark is, for the frame's edge."""
        return f"{self._at + 1:,} of {len(self._choices):,}" if self._choices else ""

    def show(self, choices: Sequence[Choice], empty: str = "", key: str = "") -> None:
        """Show these, marking the one with this key, else the first."""
        self._choices = choices
        self._empty = empty or self._empty
        self._at = next((at for at, each in enumerate(choices) if key and each.key == key), 0)
        self._top = 0
        self._height = 2 if any(each.note for each in choices) else 1
        count = max((len(each.cells) for each in choices), default=0)
        self._columns = [
            max(cell_len(each.cells[at][0]) for each in choices if at < len(each.cells)) for at in range(count)
        ]
        self._mark_moved()

    def move(self, by: int) -> None:
        """Mark another line, stopping at both ends."""
        self._go(self._at + by)

    def page(self, by: int) -> None:
        self._go(self._at + by * max(1, self._visible_lines() - 1))

    def to_end(self, last: bool) -> None:
        self._go(len(self._choices) - 1 if last else 0)

    def _go(self, at: int) -> None:
        at = max(0, min(at, len(self._choices) - 1))
        if at != self._at:
            self._at = at
            self._mark_moved()

    def _mark_moved(self) -> None:
        self.refresh()
        self.post_message(self.Moved())

    def _visible_lines(self) -> int:
        """How many lines are in view."""
        return max(1, self.size.height // self._height)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-1)

    def on_click(self, event: events.Click) -> None:
        """A click marks a line; on the marked one it chooses."""
        at = self._top + event.y // self._height
        if at >= len(self._choices):
            return
        if at == self._at:
            self.post_message(self.Chosen())
        else:
            self._go(at)

    def render(self) -> Content:
        width, fit = self.size.width, self._visible_lines()
        if not self._choices:
            return Content.styled(cut(to_terminal(self._empty), width), "dim")
        self._top = max(min(self._top, self._at, max(0, len(self._choices) - fit)), self._at - fit + 1)
        seen = range(self._top, min(self._top + fit, len(self._choices)))
        return Content("\n").join(line for at in seen for line in self._lines(at, width))

    def _lines(self, at: int, width: int) -> list[Content]:
        choice, marked = self._choices[at], at == self._at
        style = ""
        lines = [self._line(choice, marked, width)]
        if marked:  # of the terminal's own colours none is known to be apart from its background
            own = self.app.no_color or self.app.current_theme.ansi
            style = "bold reverse" if own else f"bold {_CURSOR}"
            lines = [Content(lines[0].plain)] if own else lines
        if self._height == 2:
            lines.append(_padded(Content.styled("   " + to_terminal(cut(choice.note, width - 4)), "dim"), width))
        return [line.stylize_before(style) if not marked else line.stylize(style) for line in lines]

    def _line(self, choice: Choice, marked: bool, width: int) -> Content:
        columns = list(self._columns)
        while columns and width - 3 - sum(columns) - 2 * len(columns) < _LEAST_TITLE:
            columns.pop()
        room = width - 3 - sum(columns) - 2 * len(columns)
        cells = list(zip(columns, choice.cells, strict=False))
        while cells and not cells[0][1][0]:  # the title may go on over what is empty
            room += cells.pop(0)[0] + 2
        parts: list[Content] = [
            Content(to_terminal(" › ") if marked else "   "),
            _padded(_title(choice, max(0, room)), max(0, room)),
        ]
        for column, (words, style) in cells:
            text = to_terminal(visible(words).translate(_BLANKS))
            parts += [Content("  "), Content.styled(text.rjust(column - (cell_len(text) - len(text))), style)]
        return _padded(Content("").join(parts), width)


def _padded(line: Content, width: int) -> Content:
    return line.pad_right(max(0, width - line.cell_length))


def _title(choice: Choice, width: int) -> Content:
    """The title in at most so many cells, with the matches marked."""
    text = to_terminal(visible(choice.title).translate(_BLANKS))
    content = Content.styled(text, choice.style)
    for at in choice.marks:
        content = content.stylize("$accent bold underline", at, at + 1)
    if width_of([(text, "")]) <= width:
        return content
    if not choice.keeps_end:
        return content.truncate(max(0, width - 1)) + Content(to_terminal("…"))
    start, left = len(text), width - 1
    while start and left >= get_character_cell_size(text[start - 1]):
        start -= 1
        left -= get_character_cell_size(text[start])
    return Content(to_terminal("…")) + content[start:]


_BLANKS = {ord("\n"): " ", ord("\t"): " ", ord("\r"): " "}
