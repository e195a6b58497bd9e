"""A Markdown table as rows of aligned columns, without borders, so that what is copied is plain text. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from lacli.cli.terminal.markdown.inline import Part, Row, Style, parts_of, row_of, wrapped
from lacli.cli.terminal.tty import column_after

_DELIMITER = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_GAP = "  "
_NARROWEST = 3


def is_delimiter(line: str, header: str) -> bool:
    """Whether this line below a header makes a table of it."""
    return "|" in line and bool(_DELIMITER.fullmatch(line)) and len(_cells(line)) == len(_cells(header))


def _cells(line: str) -> list[str]:
    """The cells of a line; a bar after a backslash, or within code, is text."""
    line = line.strip().removeprefix("|")
    found = re.findall(r"((?:\\.|`[^`]*`|[^|])*)(?:\||$)", line)
    if found and not found[-1].strip():
        found.pop()
    return [cell.strip().replace("\\|", "|") for cell in found]


class Table:
    """A table while its lines come."""

    def __init__(self, header: str, delimiter: str, coloured: bool) -> None:
        self._coloured = coloured
        self._barred = header.lstrip().startswith("|")
        marks = _cells(delimiter)
        self._right = [mark.endswith(":") and not mark.startswith(":") for mark in marks]
        self._lines = [self._parts(header, Style.BOLD)]
        self._printed = 0
        self._widths: list[int] | None = None

    def takes(self, line: str, is_open: bool = False) -> bool:
        """Whether this line is one more row, or may become one where it is still open: it begins as the header does."""
        return line.lstrip().startswith("|") if self._barred else "|" in line or is_open

    def add(self, line: str) -> None:
        """One more row."""
        self._lines.append(self._parts(line, Style.NONE))

    def rows(self, width: int) -> list[Row]:
        """The rows that may still change, in at most this many columns if possible."""
        widths = self._widths or self._fitting(width)
        rows: list[Row] = []
        for index, line in enumerate(self._lines[self._printed :], self._printed):
            rows += self._row(line, widths)
            if index == 0:
                rule = Part(_GAP.join("─" * width for width in widths), "2" if self._coloured else "")
                rows.append(row_of([rule]))
        return rows

    def settle(self, width: int) -> None:
        """The rows are final, as they no longer fit the screen. The columns stay as wide as they are."""
        self._widths = self._widths or self._fitting(width)
        self._printed = len(self._lines)

    def _parts(self, line: str, style: Style) -> list[list[Part]]:
        count = len(self._right)
        texts = [*_cells(line), *[""] * count][:count]
        return [parts_of(text, style) if self._coloured else [Part(text)] for text in texts]

    def _fitting(self, width: int) -> list[int]:
        """Columns as wide as their widest cell; where that is too much the widest ones give way."""
        widths = [
            max(_NARROWEST, *(column_after(0, _text(line[column])) for line in self._lines))
            for column in range(len(self._right))
        ]
        room = max(len(widths) * _NARROWEST, width - len(_GAP) * (len(widths) - 1))
        while sum(widths) > room:
            widest = max(widths)
            widths[widths.index(widest)] = max(_NARROWEST, widest - max(1, (sum(widths) - room) // len(widths)))
        return widths

    def _row(self, line: Sequence[Sequence[Part]], widths: Sequence[int]) -> list[Row]:
        """A row of the table; several of the screen where a cell is wrapped."""
        cells = [wrapped(parts, width) for parts, width in zip(line, widths, strict=True)]
        rows = []
        for pieces in zip_longest(*cells):
            parts: list[Part] = []
            for column, piece in enumerate(pieces):
                free = " " * (widths[column] - column_after(0, piece.text if piece else ""))
                inner = piece.parts if piece else ()
                parts += [Part(free), *inner] if self._right[column] else [*inner, Part(free)]
                parts.append(Part(_GAP))
            while parts and not parts[-1].text.strip():  # what is copied has no blanks at its end
                parts.pop()
            rows.append(row_of(parts))
        return rows


def _text(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts)
