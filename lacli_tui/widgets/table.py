"""A Markdown table as lines: in columns if they fit, wrapped; else row by row; a huge one as its source. Pure.

No cell is ever cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from textual.content import Content

from lacli_tui.glyphs import is_ascii_terminal

HEAD = ".prose--head"
_GAP = "  "
_NARROWEST = 6
"""The least cells of a wrapped column; narrower ones tear words to pieces."""
_MOST_COLUMNS, _MOST_CELLS = 40, 1_200


@dataclass(frozen=True, slots=True)
class Table:
    """Every row has as many cells as there are headers."""

    headers: Sequence[Content]
    rows: Sequence[Sequence[Content]]
    right: Sequence[bool]
    """Which columns are right-aligned."""

    @property
    def is_huge(self) -> bool:
        """Whether laying it out takes too long, or nobody would read it as a table."""
        return len(self.headers) > _MOST_COLUMNS or len(self.headers) * len(self.rows) > _MOST_CELLS

    def lines(self, width: int) -> list[Content]:
        """All of it, in lines of at most this width."""
        if self.is_huge:
            return [part for row in (self.headers, *self.rows) for part in _source(row).fold(width)]
        natural = [max(1, *(row[at].cell_length for row in (self.headers, *self.rows))) for at in self._columns]
        widths = _fitting(natural, width)
        return list(self._in_columns(widths)) if widths else list(self._row_by_row(width))

    @property
    def _columns(self) -> range:
        return range(len(self.headers))

    def _in_columns(self, widths: Sequence[int]) -> Iterator[Content]:
        dash = "-" if is_ascii_terminal() else "─"
        wrapped = [[cell.wrap(width) for cell, width in zip(row, widths, strict=True)] for row in self.rows]
        apart = any(len(cell) > 1 for row in wrapped for cell in row)
        yield from self._lines_of(
            [cell.stylize(HEAD).wrap(width) for cell, width in zip(self.headers, widths, strict=True)], widths
        )
        yield Content.styled(_GAP.join(dash * width for width in widths), "dim")
        for index, row in enumerate(wrapped):
            if apart and index:
                yield Content("")
            yield from self._lines_of(row, widths)

    def _lines_of(self, cells: Sequence[Sequence[Content]], widths: Sequence[int]) -> Iterator[Content]:
        """The lines of one row."""
        for pieces in zip_longest(*cells, fillvalue=Content("")):
            parts: list[Content | str] = []
            for piece, width, right in zip(pieces, widths, self.right, strict=True):
                piece = piece.rstrip()
                free = " " * (width - piece.cell_length)
                parts += [free, piece, _GAP] if right else [piece, free, _GAP]
            yield Content.assemble(*parts).rstrip()

    def _row_by_row(self, width: int) -> Iterator[Content]:
        """One cell below the other, each behind the header of its column."""
        for index, row in enumerate(self.rows or [[Content("")] * len(self.headers)]):
            if index:
                yield Content("")
            for header, cell in zip(self.headers, row, strict=True):
                yield from Content.assemble(header.stylize(HEAD), (": ", HEAD), cell).wrap(width)


def _source(row: Sequence[Content]) -> Content:
    return Content("| " + " | ".join(cell.plain for cell in row) + " |")


def _fitting(widths: list[int], width: int) -> list[int]:
    """The widths of the columns, of which the widest give way; empty if some would be too narrow to read."""
    room = width - len(_GAP) * (len(widths) - 1)
    if sum(min(each, _NARROWEST) for each in widths) > room:
        return []
    low, high = _NARROWEST, max(*widths, _NARROWEST)
    while low < high:  # the greatest width that, as the most of any column, lets all of them fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(min(each, middle) for each in widths) <= room else (low, middle - 1)
    return [min(each, low) for each in widths]
