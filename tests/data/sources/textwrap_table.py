"""Tables for terminals: columns that share the width, cells that wrap, numbers aligned to the right."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+%?$")


def cell_width(text: str) -> int:
    """Columns a text takes on a terminal."""
    width = 0
    for character in text:
        if unicodedata.combining(character):
            continue
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def pad(text: str, width: int, right: bool = False) -> str:
    blanks = " " * max(0, width - cell_width(text))
    return blanks + text if right else text + blanks


def cut(text: str, width: int, mark: str = "…") -> str:
    """The text in at most this many columns, with a mark where something is missing."""
    if cell_width(text) <= width:
        return text
    kept = ""
    for character in text:
        if cell_width(kept + character + mark) > width:
            break
        kept += character
    return kept + mark


def wrap(text: str, width: int) -> list[str]:
    lines: list[str] = []
    current = ""
    for word in text.split():
        candidate = f"{current} {word}" if current else word
        if cell_width(candidate) <= width:
            current = candidate
            continue
        if current:
            lines.append(current)
        while cell_width(word) > width:
            head = cut(word, width, "")
            if not head:
                break
            lines.append(head)
            word = word[len(head) :]
        current = word
    lines.append(current)
    return lines


@dataclass
class Column:
    title: str
    least: int = 3
    most: int = 60
    right: bool | None = None

    def aligned_right(self, cells: list[str]) -> bool:
        if self.right is not None:
            return self.right
        filled = [cell for cell in cells if cell.strip()]
        return bool(filled) and all(_NUMBER.match(cell.strip()) for cell in filled)


class Table:
    def __init__(self, *titles: str, gap: str = "  ") -> None:
        self.columns = [Column(title) for title in titles]
        self.rows: list[list[str]] = []
        self.gap = gap

    def add(self, *cells: object) -> None:
        if len(cells) != len(self.columns):
            raise ValueError(f"a row has {len(cells)} cells, the table {len(self.columns)} columns")
        self.rows.append([str(cell) for cell in cells])

    def widths(self, total: int) -> list[int]:
        """How the width is shared: all columns get what they want, or the widest ones give way."""
        wanted = []
        for index, column in enumerate(self.columns):
            widest = max([cell_width(column.title), *(cell_width(row[index]) for row in self.rows)])
            wanted.append(min(column.most, max(column.least, widest)))
        free = total - cell_width(self.gap) * (len(self.columns) - 1)
        while sum(wanted) > free:
            index = max(range(len(wanted)), key=lambda i: wanted[i])
            if wanted[index] <= self.columns[index].least:
                break
            wanted[index] -= 1
        return wanted

    def render(self, total: int = 80) -> str:
        widths = self.widths(total)
        sides = [
            column.aligned_right([row[index] for row in self.rows]) for index, column in enumerate(self.columns)
        ]
        lines = [self._line([column.title for column in self.columns], widths, sides)]
        lines.append(self.gap.join("-" * width for width in widths))
        for row in self.rows:
            wrapped = [wrap(cell, width) for cell, width in zip(row, widths)]
            height = max(len(cell) for cell in wrapped)
            for level in range(height):
                parts = [cell[level] if level < len(cell) else "" for cell in wrapped]
                lines.append(self._line(parts, widths, sides))
        return "\n".join(lines)

    def _line(self, cells: list[str], widths: list[int], sides: list[bool]) -> str:
        padded = [pad(cut(cell, width), width, right) for cell, width, right in zip(cells, widths, sides)]
        return self.gap.join(padded).rstrip()

    def markdown(self) -> str:
        titles = [column.title for column in self.columns]
        lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
        for row in self.rows:
            escaped = [cell.replace("|", "\\|").replace("\n", " ") for cell in row]
            lines.append("| " + " | ".join(escaped) + " |")
        return "\n".join(lines)
