"""The rows at the end of a terminal that may still change, and what makes other rows of them.

Pure. A terminal says nothing back: where its rows are is known from what was written alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from lacli.cli.terminal.markdown.inline import Row
from lacli.cli.terminal.tty import column_after


class Region:
    """The rows at the end of the screen that may be redrawn; the cursor is after the last of them."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.width = 0

    def replace(self, rows: Sequence[Row], width: int) -> str:
        """What makes these rows of the rows that are there."""
        same = 0
        while same < min(len(rows), len(self.rows)) and rows[same] == self.rows[same]:
            same += 1
        if same == len(self.rows):
            written = "".join("\n" + row.since() for row in rows[same:])
            written = written if self.rows else written[1:]
        elif self.grows(rows):
            written = rows[same].since(len(self.rows[same].text))
            written += "".join("\n" + row.since() for row in rows[same + 1 :])
        else:
            same = min(same, max(0, len(rows) - 1))
            up = sum(height(row, width) for row in self.rows[same:]) - 1
            written = "\r" + (f"\x1b[{up}A" if up else "") + _over(rows[same:], width)
        self.rows, self.width = list(rows), width
        return written

    def grows(self, rows: Sequence[Row]) -> bool:
        """Whether these rows only add to what is there."""
        last = len(self.rows) - 1
        return last < 0 or (
            len(rows) > last and list(rows[:last]) == self.rows[:last] and _begins(rows[last], self.rows[last])
        )

    def survives(self, width: int) -> bool:
        """Whether the rows are where they were, though the terminal may have become narrower."""
        return width >= self.width or all(column_after(0, row.text) <= width for row in self.rows)


def _over(rows: Sequence[Row], width: int) -> str:
    """These rows written over what is there; the screen is never erased from its first cell on, as tmux puts what is
    erased so among the lines that have scrolled away."""
    wide = [column_after(0, row.text) for row in rows]
    if any(cells >= width and not cells % width for cells in wide):  # there, erasing after a row would remove its end
        return "\x1b[J" + "\n".join(row.since() for row in rows)
    ends = ["\x1b[K" if cells > width else "" for cells in wide]
    return "\n".join(f"\x1b[K{row.since()}{end}" for row, end in zip(rows, ends, strict=True)) + "\x1b[J"


def _begins(row: Row, beginning: Row) -> bool:
    """Whether a row looks like this as far as this goes."""
    if not beginning.parts:
        return True
    if len(row.parts) < len(beginning.parts):
        return False
    *before, last = beginning.parts
    same = row.parts[len(before)]
    return list(row.parts[: len(before)]) == before and same.sgr == last.sgr and same.text.startswith(last.text)


def height(row: Row, width: int) -> int:
    """Rows of the screen it takes."""
    text = row.text
    if text.isascii() and "\t" not in text:
        return max(1, -(-len(text) // width))
    count, column = 1, 0
    for character in text:
        taken = column_after(column, character) - column
        if taken and column + taken > width:
            count, column = count + 1, 0
        column += taken
    return count
