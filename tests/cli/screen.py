"""A small terminal: what a person sees after some bytes, scrolled lines included. Knows what lacli writes."""

from __future__ import annotations

import re

from lacli.cli.terminal.tty import cells

_TOKEN = re.compile(r"\x1b\[(?P<args>[0-9;?]*)(?P<kind>[A-Za-z])|\x1b(?P<one>[78D])|(?P<char>.)", re.DOTALL)


class Screen:
    """Rows of cells; `height` of them can be reached by the cursor, those above have scrolled away."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        self.width = width
        self.height = height
        self.rows: list[list[str]] = [[]]
        self.row = self.column = 0
        self.styles: set[str] = set()
        """Parameters of all sequences that set a style."""
        self._saved = (0, 0)

    def write(self, text: str) -> None:
        """Show some more."""
        for token in _TOKEN.finditer(text):
            if token["kind"]:
                self._control(token["kind"], token["args"])
            elif token["one"]:
                self._escape(token["one"])
            else:
                self._character(token["char"])

    def lines(self) -> list[str]:
        """All rows as text."""
        return ["".join(row) for row in self.rows]

    def _top(self) -> int:
        return max(0, len(self.rows) - self.height)

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append([])

    def _escape(self, kind: str) -> None:
        if kind == "7":
            self._saved = self.row - self._top(), self.column
        elif kind == "8":
            self.row, self.column = self._saved[0] + self._top(), self._saved[1]
        else:
            self._down()

    def _control(self, kind: str, args: str) -> None:
        if kind == "m":
            self.styles.add(args)
        elif kind == "A":
            self.row = max(self._top(), self.row - int(args or 1))
        elif kind == "B":
            self.row = min(len(self.rows) - 1, self.row + int(args or 1))
        elif kind in "JK":
            del self.rows[self.row][self.column :]
            if kind == "J":
                self.rows[self.row + 1 :] = [[] for _ in self.rows[self.row + 1 :]]
        elif args + kind not in ("?7l", "?7h", "?2004h", "?2004l"):
            raise AssertionError(f"unknown sequence {args}{kind}")

    def _character(self, character: str) -> None:
        if character == "\n":
            self._down()
            self.column = 0
        elif character == "\r":
            self.column = 0
        elif character == "\t":
            self.column = min(self.width - 1, (self.column // 8 + 1) * 8)
        else:
            self._put(character, cells(character))

    def _put(self, character: str, taken: int) -> None:
        row = self.rows[self.row]
        if not taken:
            if row:
                row[-1] += character
            return
        if self.column + taken > self.width:
            self._down()
            self.column = 0
            row = self.rows[self.row]
        row.extend(" " for _ in range(self.column - len(row)))
        row[self.column : self.column + taken] = [character, *[""] * (taken - 1)]
        self.column += taken
