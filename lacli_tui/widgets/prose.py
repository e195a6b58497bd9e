"""The prose of an answer between its code blocks, as Markdown that grows. Nothing in it is markup.

One widget that draws the rows in view, however many there are. Of a growing text only the part from the last block on
is parsed again.
"""

from __future__ import annotations

import asyncio
import time

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip

from lacli_tui.sanitize import visible
from lacli_tui.textual_private import rendered
from lacli_tui.widgets.line_widget import LineWidget
from lacli_tui.widgets.markdown_rows import Block, Row, blocks_of, source_of

_PART = 4_000
"""Characters parsed without a break."""
_MOST = 16_000
"""The most characters of one block; a longer one is shown as plain text up to the next blank line."""
_BUSY_S = 0.015


class Prose(LineWidget):
    COMPONENT_CLASSES = {  # noqa: RUF012 - as textual has it
        *(f"prose--{kind}" for kind in ("head", "code", "block", "quote", "mark"))
    }
    DEFAULT_CSS = """
    Prose {
        height: auto;
        width: 1fr;
        margin: 0 0 1 0;
        color: $foreground;
        &> .prose--head { color: $primary; text-style: bold; }
        &> .prose--code { color: $text-warning; background: $warning 10%; }
        &> .prose--block { background: $surface; }
        &> .prose--quote { color: $secondary; }
        &> .prose--mark { color: $primary; }
        &:ansi {
            &> .prose--head { color: ansi_default; }
            &> .prose--code { color: ansi_yellow; background: ansi_default; }
            &> .prose--block { background: ansi_default; }
            &> .prose--quote, &> .prose--mark { color: ansi_blue; }
        }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._reset()

    def _reset(self) -> None:
        self._blocks: list[Block] = []
        self._open = ""
        """The end of the text, whose blocks may still change."""
        self._is_plain = False
        """Whether it is inside a block that is shown as plain text."""
        self._final = 0
        """How many blocks are final."""
        self._rows: list[Row] = []
        self._final_rows = 0
        """How many rows belong to final blocks,"""
        self._rows_made_of = 0
        """and to how many of these."""
        self._strips.clear()

    async def set_text(self, text: str) -> None:
        """Show this text; if it continues the current one, only the last block is parsed again."""
        if text == self.text:
            return
        if not text.startswith(self.text):
            self._reset()
            self.text = ""
        self._open += visible(text[len(self.text) :])
        self.text = text
        del self._blocks[self._final :]
        started = time.perf_counter()
        while not self._parse():
            if time.perf_counter() - started > _BUSY_S:
                self._make_rows()
                await asyncio.sleep(0)
                started = time.perf_counter()
        self._make_rows()
        self.refresh(layout=True)

    def _parse(self) -> bool:
        """Parse the next part of the open text; whether that was the last one."""
        if self._is_plain:
            return self._parse_plain()
        size = len(self._open)
        if size > _PART:
            size = (
                self._open.rfind("\n\n", 0, _PART) + 2 if "\n\n" in self._open[:_PART] else self._open.find("\n\n") + 2
            )
            if size < 2:
                size = len(self._open)
            if size > _MOST:
                self._is_plain = True
                self._blocks.append(Block(Content(""), gap=()))
                self._final = len(self._blocks)
                return False
        part, last = self._open[:size], size == len(self._open)
        found = blocks_of(part)
        if last or len(found) > 1:
            may_change = 1 if not last or not found or found[-1][0] < part.count("\n") else 2
            whole, opened = found[:-may_change], found[-may_change:]
            if whole:
                self._open = self._open.split("\n", opened[0][0])[-1]
        else:
            whole, opened = found, []
            self._open = self._open[size:]
        self._blocks += [block for _, blocks in whole for block in blocks]
        self._final = len(self._blocks)
        if last:
            self._blocks += [block for _, blocks in opened for block in blocks]
        return last

    def _parse_plain(self) -> bool:
        """The same inside a block that is too long."""
        end = self._open.find("\n\n")
        size = end if end >= 0 else self._open.rfind("\n")
        if size < 0 and len(self._open) > _MOST:
            size = self._open.rfind(" ") + 1 or len(self._open)
        part = self._open[: max(0, size)]
        self._open = self._open[len(part) :]
        for start in range(0, len(part), _MOST):
            self._blocks.append(source_of(part[start : start + _MOST].removeprefix("\n")))
        self._final = len(self._blocks)
        self._is_plain = end < 0
        if self._is_plain:
            self._blocks += [source_of(self._open.removeprefix("\n"))] if self._open.strip() else []
        return self._is_plain

    def _make_rows(self) -> None:
        """Make the rows of blocks that have none yet."""
        if self._width <= 0:
            return
        del self._rows[self._final_rows :]
        for index in list(self._strips):
            if index >= self._final_rows:
                del self._strips[index]
        for index, block in enumerate(self._blocks[self._rows_made_of :], self._rows_made_of):
            if index == self._final:
                self._final_rows, self._rows_made_of = len(self._rows), index
            rows = block.rows(self._width)
            if not index and block.gap is not None:
                next(rows)
            self._rows += rows
        if self._final == len(self._blocks):
            self._final_rows, self._rows_made_of = len(self._rows), self._final

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self._width and width > 0:
            self._width = width
            self._final_rows = self._rows_made_of = 0
            self._make_rows()
        return len(self._rows)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, with the rows of one paragraph in one line."""
        found = ""
        for y, row in enumerate(self._rows):
            span = selection.get_span(y)
            if span is not None:
                start, end = span
                between = "" if not found else " " if row.goes_on else "\n"
                found += between + row.content.plain[start : end if end >= 0 else None]
        return found, "\n"

    def _draw_row(self, y: int) -> Strip:
        if y >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        parts = rendered(self._rows[y].content, self)
        return self._finish_row(Strip([Segment(text, style.rich_style) for text, style in parts]), y)
