"""Markdown on a terminal while it is written. Every finished line is printed once and stays; only the last one, or a
table that still grows, is drawn anew, a few times a second, and only as far as it is on the screen.

Lines are kept as the model broke them and wrapped at blanks where they are too long; code is left to the terminal to
wrap, so that what is copied is the code. No input, no output here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacli.cli.terminal.markdown.inline import Part, Row, Style, parts_of, row_of, wrapped
from lacli.cli.terminal.markdown.region import Region, height
from lacli.cli.terminal.markdown.table import Table, is_delimiter
from lacli.cli.terminal.tty import StreamSanitizer, column_after
from lacli.text.fences import Fence, fence_of

if TYPE_CHECKING:
    from lacli.cli.terminal.markdown.code import Highlighter

_APPEND_S, _REDRAW_S = 0.04, 0.1
"""Seconds between two drawings of the open line: when text is added, and when it changes."""
_COST = 20
"""Drawing the open line may take at most one part in this many of the time."""
_UNDECIDED = re.compile(r"[ \t]*(?:[-*+_#=~`>|]*|\d{1,9}[.)]?)[ \t]*")
"""The beginning of a line that may become anything."""
_MARKS_AT_END = re.compile(r"[*_~`\\!]+\Z|!?\[[^\]\n]*\]?\Z")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_QUOTE = re.compile(r" {0,3}>[ \t]?")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+)(?=\S)")
_RULE_WIDTH = 40
_CODE_INDENT = 4
_NARROWEST = 10


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be written to the terminal."""

    text: str = ""
    moves: bool = False
    """Whether the cursor leaves the row it is in."""
    column: int = 0
    """Where the cursor is then."""


class Page:
    """The text of one reply. What is pushed and what `finish` gives are to be written in order."""

    def __init__(
        self, size: Callable[[], tuple[int, int]], coloured: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._size = size
        self._coloured = coloured
        self._clock = clock
        self._sanitiser = StreamSanitizer()
        self._region = Region()
        self._written: list[str] = []
        self._drawn_at = float("-inf")
        self._wait_s = 0.0
        self._line = ""
        self._printed = 0
        """How much of the open line is above the region and is not redrawn."""
        self._drawn_to = 0
        """How much of it stands anywhere."""
        self._beyond = False
        """Whether the open line is code that has reached the right end: it is only added to."""
        self._fence: Fence | None = None
        self._code: Highlighter | None = None
        self._in_list = False
        self._header: str | None = None
        """A line that the next one may make the header of a table."""
        self._table: Table | None = None

    def push(self, text: str) -> Change:
        """The next piece of text."""
        self._add(self._sanitiser.push(text))
        if self._line:
            self._open_line()
        return self._change()

    def finish(self) -> Change:
        """The end: all is shown, and the cursor stands at the beginning of a row."""
        self._add(self._sanitiser.finish())
        if self._line:
            self._complete(self._line)
            self._line = ""
        self._end_header()
        self._end_table()
        return self._change()

    def _add(self, text: str) -> None:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._complete(line)

    def _change(self) -> Change:
        text = "".join(self._written)
        self._written.clear()
        width = self._size()[0]
        last = self._region.rows[-1].text if self._region.rows else ""
        column = column_after(0, last)
        return Change(text, "\n" in text or "\r" in text or self._beyond or column > width, column)

    def _complete(self, line: str) -> None:
        """A line to its end."""
        self._after_resize()
        if self._fence is not None:
            self._complete_code(line, self._fence)
            return
        header = self._header
        if header is not None and is_delimiter(line, header):
            self._header, self._table = None, Table(header, line, self._coloured)
            self._draw_table()
            return
        self._end_header()
        if self._table is not None and self._table.takes(line):
            self._table.add(line)
            self._draw_table()
            return
        self._end_table()
        rows = self._text_rows(line, False)
        if self._may_be_header(line, rows):
            self._header = line
            self._draw(rows)
            return
        self._settle(rows)
        self._begin_fence(line)

    def _may_be_header(self, line: str, rows: Sequence[Row]) -> bool:
        """Whether the next line may make a table of this one, all of which can still be redrawn."""
        fits = not self._printed and sum(height(row, self._size()[0]) for row in rows) <= self._most()
        return fits and "|" in line and _fence(line) is None

    def _complete_code(self, line: str, opening: Fence) -> None:
        closing = _fence(line)
        if closing is not None and closing.closes(opening):
            self._fence = self._code = None
            self._settle([row_of([self._dim(line)])])
        elif self._beyond:
            self._add_beyond(line, True)
            self._written.append("\n")
            self._beyond, self._printed = False, 0
        else:
            self._settle([row_of(self._coloured_code(line, True))])

    def _begin_fence(self, line: str) -> None:
        """Whether code begins with this line, possibly after the marker of a list item."""
        item = _ITEM.match(line)
        content = line[item.end() :] if item else line
        self._fence = _fence(content)
        if self._fence is not None and self._coloured and self._fence.info:
            from lacli.cli.terminal.markdown.code import highlighter

            self._code = highlighter(self._fence.info.split()[0])

    def _open_line(self) -> None:
        """Show what is known of the line that is being written, if it is time."""
        self._after_resize()
        started = self._clock()
        since = started - self._drawn_at
        if since < max(_APPEND_S, self._wait_s) or not self._may_show():
            return
        if self._beyond:
            self._add_beyond(self._line, False)
        elif self._fence is not None:
            row = row_of(self._coloured_code(self._line, False))
            if self._shown([row], since):
                self._printed = len(self._line)
                self._beyond = column_after(0, row.text) >= self._size()[0]
                if self._beyond:
                    self._region.rows = []
        else:
            known = _MARKS_AT_END.sub("", self._line)
            if not self._shown(self._text_rows(known, True), since):
                return
            self._drawn_to = len(known)
        self._drawn_at = self._clock()
        self._wait_s = (self._drawn_at - started) * _COST

    def _may_show(self) -> bool:
        """Whether it is known what the open line is."""
        if self._fence is not None:
            return bool(self._line.strip(" \t`~"))
        if _UNDECIDED.fullmatch(self._line) or (self._table is not None and self._table.takes(self._line, True)):
            return False
        if self._header is not None:
            if not self._line.strip(" \t|:-"):
                return False
            self._end_header()
        self._end_table()
        return True

    def _shown(self, rows: Sequence[Row], since: float) -> bool:
        """Draw the open line, unless it was redrawn only a moment ago."""
        if not self._region.grows(rows) and since < _REDRAW_S:
            return False
        while sum(height(row, self._size()[0]) for row in rows) > self._most() and len(rows) > 1:
            self._draw(rows[:-1])
            self._written.append("\n")
            self._region.rows = []
            self._printed = rows[-1].start
            rows = rows[-1:]
        self._draw(rows)
        return True

    def _most(self) -> int:
        """Rows that can be redrawn: those on the screen, and one for the numbers below."""
        return max(1, self._size()[1] - 3)

    def _draw(self, rows: Sequence[Row]) -> None:
        self._written.append(self._region.replace(rows, self._size()[0]))

    def _settle(self, rows: Sequence[Row]) -> None:
        """These rows are final."""
        self._draw(rows)
        self._written.append("\n")
        self._region.rows = []
        self._printed = 0

    def _draw_table(self) -> None:
        assert self._table is not None
        width, _ = self._size()
        rows = self._table.rows(width - 1)
        if sum(height(row, width) for row in rows) > self._most():
            self._table.settle(width - 1)
            self._settle(rows)
        elif self._clock() - self._drawn_at >= _REDRAW_S:
            self._draw(rows)
            self._drawn_at = self._clock()

    def _end_table(self) -> None:
        if self._table is not None:
            rows = self._table.rows(self._size()[0] - 1)
            self._table = None
            if rows:
                self._settle(rows)

    def _end_header(self) -> None:
        """The line was no header."""
        if self._header is not None:
            header, self._header = self._header, None
            self._settle(self._text_rows(header, False))

    def _after_resize(self) -> None:
        """If a narrower terminal has rewrapped our rows, their position is unknown: leave them and continue below."""
        width = self._size()[0]
        if not self._region.rows or self._region.survives(width):
            return
        if self._fence is not None:
            self._beyond, self._region.rows = True, []
            return
        self._written.append("\n")
        self._region.rows = []
        if self._header is None and self._table is None:
            self._printed = self._drawn_to

    def _coloured_code(self, line: str, complete: bool) -> list[Part]:
        return self._code.line(line, complete) if self._code is not None else [Part(line, start=0)]

    def _add_beyond(self, line: str, complete: bool) -> None:
        """The rest of a line of code; the terminal wraps it, so that it is copied as one line."""
        self._written.append(row_of(self._coloured_code(line, complete)).since(self._printed))
        self._printed = len(line)

    def _dim(self, text: str) -> Part:
        return Part(text, "2" if self._coloured else "", 0)

    def _text_rows(self, line: str, is_open: bool) -> list[Row]:
        """The rows of a line that is not code, without what stands above the region."""
        width = self._size()[0]
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            return [Row(())]
        if _fence(line) is not None:
            return [row_of([self._dim(line)])]
        if _RULE.fullmatch(line):
            return [row_of([self._dim("─" * min(width - 1, _RULE_WIDTH))])]
        if not _ITEM.match(line) and indent >= _CODE_INDENT and not self._in_list:
            return [row_of([Part(line, start=0)])]
        self._in_list = bool(_ITEM.match(line)) or (self._in_list and indent > 0)
        first, hanging, at = self._prefix(line)
        style, end = Style.NONE, len(line)
        heading = _HEADING.fullmatch(line) if self._coloured else None
        if heading is not None:
            at, end = heading.span(2)
            style = Style.BOLD | (Style.LINK if len(heading[1]) == 1 else Style.NONE)
        parts = [Part(line[at:end], start=at)]
        if self._coloured:
            parts = parts_of(line[at:end], style, is_open, at)
        if self._printed:
            parts, first = list(_behind(parts, self._printed)), hanging
        return wrapped(parts, max(_NARROWEST, width - 1), first, hanging)

    def _prefix(self, line: str) -> tuple[list[Part], list[Part], int]:
        """What stands before the content of a line, on its first row and on the others, and where that begins."""
        first: list[Part] = []
        hanging: list[Part] = []
        at = 0
        while quote := _QUOTE.match(line[at:]):
            first.append(Part("> ", "2" if self._coloured else ""))
            hanging.append(first[-1])
            at += quote.end()
        item = _ITEM.match(line[at:])
        if item:
            marker = "•" if item[2] in "-*+" else item[2]
            before = item[1].replace("\t", "    ") + marker + " "
            at += item.end()
        else:
            rest = line[at:]
            before = rest[: len(rest) - len(rest.lstrip())].replace("\t", "    ")
            at += len(rest) - len(rest.lstrip())
        first.append(Part(before))
        hanging.append(Part(" " * len(before)))
        if 2 * sum(len(part.text) for part in hanging) > self._size()[0]:
            hanging = []
        return first, hanging, at


def _fence(line: str) -> Fence | None:
    """The fence that this line is, however deep it stands."""
    return fence_of(line, len(line) - len(line.lstrip()))


def _behind(parts: Sequence[Part], printed: int) -> Iterator[Part]:
    """The parts from this place of their line on."""
    for part in parts:
        skipped = max(0, printed - part.start)
        if skipped < len(part.text):
            yield Part(part.text[skipped:], part.sgr, part.start + skipped)
