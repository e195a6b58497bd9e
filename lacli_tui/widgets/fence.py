"""A code block: numbered, plain while it is written, coloured when it is closed, wrapped if it is too wide.

Drawn line by line, and only lines in view: an append costs what it adds, however long the block is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip

from lacli_tui.highlight import Run, highlighted
from lacli_tui.sanitize import visible
from lacli_tui.widgets.line_widget import LineWidget

_TAB = 4
_SLICE_S, _PAUSE_S = 0.006, 0.025
"""How long colouring runs without a break, and the break."""


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    start: int
    """Where it begins in its line."""
    text: str
    """As in the block, including tabs."""


class Fence(LineWidget):
    """Filled by `set_text`; `close` colours it."""

    COMPONENT_CLASSES = {  # noqa: RUF012 - as textual has it
        "fence--title",
        *(f"fence--{kind}" for kind in ("comment", "string", "number", "keyword", "name", "builtin")),
    }
    DEFAULT_CSS = """
    Fence {
        height: auto;
        width: 1fr;
        margin: 0 0 1 0;
        padding: 0 1;
        background: $surface;
        &> .fence--title { color: $secondary; text-style: bold; }
        &> .fence--comment { color: $secondary; text-style: italic; }
        &> .fence--string { color: $text-success; }
        &> .fence--number { color: $text-warning; }
        &> .fence--keyword { color: $text-accent; text-style: bold; }
        &> .fence--name { color: $text-primary; }
        &> .fence--builtin { color: $text-secondary; }
        &:ansi {
            background: ansi_default;
            &> .fence--title { color: ansi_default; }
            &> .fence--comment { color: ansi_bright_black; }
            &> .fence--string { color: ansi_green; }
            &> .fence--number { color: ansi_yellow; }
            &> .fence--keyword { color: ansi_magenta; }
            &> .fence--name { color: ansi_blue; }
            &> .fence--builtin { color: ansi_cyan; }
        }
    }
    """

    def __init__(self, number: int = 0, language: str = "") -> None:
        super().__init__()
        self.number = number
        self.language = language
        self._text = ""
        self._complete_length = 0
        """How many characters are in complete lines."""
        self._lines: list[str] = []
        self._complete_lines = 0
        """How many lines are complete."""
        self._rows: list[_Row] = []
        self._runs: list[list[Run]] = []
        """For each line that is coloured already."""
        self._colouring: Iterator[list[Run]] | None = None

    @property
    def text(self) -> str:
        return self._text

    def set_text(self, text: str, language: str = "") -> None:
        """Show this text; if it continues the current one, only the new part is processed."""
        if language and language != self.language:
            self.language = language
            self._strips.pop(0, None)
        if text == self._text:
            return
        if not text.startswith(self._text):
            self._complete_length = self._complete_lines = 0
            self._runs = []
        self._text = text
        self._lines[self._complete_lines :] = visible(text[self._complete_length :]).split("\n")
        if self._lines and not self._lines[-1]:
            self._lines.pop()
        self._wrap(self._complete_lines)
        self._complete_length = text.rfind("\n") + 1
        self._complete_lines = len(self._lines) - (self._complete_length < len(text))
        self.refresh(layout=True)

    def close(self) -> None:
        """The block is complete: colour it, a little at a time."""
        if self.language and self._colouring is None:
            self._colouring = highlighted("\n".join(self._lines), self.language)
            self._runs = []
            self._colour()

    def _colour(self) -> None:
        until = time.perf_counter() + _SLICE_S
        first = len(self._runs)
        coming = self._colouring or iter(())
        while (runs := next(coming, None)) is not None:
            self._runs.append(runs)
            if time.perf_counter() > until:
                self.set_timer(_PAUSE_S, self._colour)
                break
        for y, row in enumerate(self._rows, 1):
            if first <= row.line < len(self._runs):
                self._strips.pop(y, None)
        self.refresh()

    def _wrap(self, first: int) -> None:
        """Make the rows of the lines from this one on."""
        while self._rows and self._rows[-1].line >= first:
            self._strips.pop(len(self._rows), None)
            self._rows.pop()
        for number in range(first, len(self._lines)):
            self._rows += _wrapped(number, self._lines[number], self._width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self._width and width > 0:
            self._width = width
            self._strips.clear()
            self._wrap(0)
        return 1 + len(self._rows)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        parts: list[str] = []
        for y, row in enumerate(self._rows):
            span = selection.get_span(y)
            if span is not None:
                start, end = (_column(row.text, x) for x in span)
                parts.append(("\n" if parts and not row.start else "") + row.text[start:end])
        return "".join(parts), "\n"

    def _draw_row(self, y: int) -> Strip:
        return self._title() if y == 0 else self._row(y - 1)

    def _title(self) -> Strip:
        style = self.rich_style + self.get_component_rich_style("fence--title", partial=True)
        text = f"[{self.number}] {visible(self.language)}" if self.number else visible(self.language)
        return Strip([Segment(text, style)]).adjust_cell_length(self.size.width, self.rich_style)

    def _row(self, index: int) -> Strip:
        base = self.rich_style
        if index >= len(self._rows):
            return Strip.blank(self.size.width, base)
        row = self._rows[index]
        drawn: list[Segment] = []
        column = 0
        for text, style in self._styled(row, base):
            text, column = _expanded(text, column)
            drawn.append(Segment(text, style))
        return self._finish_row(Strip(drawn, column), index)

    def _styled(self, row: _Row, base: Style) -> Iterator[tuple[str, Style]]:
        """The row in pieces of one colour."""
        if row.line >= len(self._runs):
            yield row.text, base
            return
        at, end = 0, row.start + len(row.text)
        for size, kind in self._runs[row.line]:
            start, stop = max(at, row.start), min(at + size, end)
            if start < stop:
                part = self.get_component_rich_style(f"fence--{kind}", partial=True) if kind else None
                yield row.text[start - row.start : stop - row.start], base + part if part else base
            at += size
        if at < end:
            yield row.text[max(0, at - row.start) :], base


def _wrapped(number: int, line: str, width: int) -> list[_Row]:
    """The rows of a line, each at most so wide."""
    if width <= 0 or (line.isascii() and "\t" not in line and len(line) <= width):
        return [_Row(number, 0, line)]
    rows = []
    start = column = 0
    for index, letter in enumerate(line):
        size = _TAB - column % _TAB if letter == "\t" else get_character_cell_size(letter)
        if column + size > width and index > start:
            rows.append(_Row(number, start, line[start:index]))
            start, column = index, 0
            size = _TAB if letter == "\t" else size
        column += size
    return [*rows, _Row(number, start, line[start:])]


def _expanded(text: str, column: int) -> tuple[str, int]:
    """The text with its tabs expanded, and the column after it."""
    if "\t" not in text:
        return text, column + cell_len(text)
    parts = []
    for index, part in enumerate(text.split("\t")):
        if index:
            blanks = _TAB - column % _TAB
            parts.append(" " * blanks)
            column += blanks
        parts.append(part)
        column += cell_len(part)
    return "".join(parts), column


def _column(text: str, x: int) -> int:
    """The index of the character drawn at cell `x`, in which tabs count as several."""
    if x < 0:
        return len(text)
    at = column = 0
    for index, letter in enumerate(text):
        if at >= x:
            return index
        wide = _TAB - column % _TAB if letter == "\t" else 1
        at += wide
        column += wide if letter == "\t" else get_character_cell_size(letter)
    return len(text)
