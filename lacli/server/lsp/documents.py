"""The files an editor has open, as it has them, with positions in the units it counts in. Pure.

Ours and not pygls', which takes a form feed, and whatever else Python takes for the end of a line, for one: its text
then differs from the editor's with the next change.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from lsprotocol import types

_END = re.compile("\r\n|\r|\n")


@dataclass(slots=True)
class Document:
    """A file."""

    uri: str
    language: str
    """As the editor calls it."""
    text: str
    encoding: str = types.PositionEncodingKind.Utf16.value
    """The units that the editor counts in."""
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._set(self.text)

    def change(self, changes: Iterable[types.TextDocumentContentChangeEvent]) -> None:
        """Make changes of the editor, one after the other."""
        for each in changes:
            if isinstance(each, types.TextDocumentContentChangePartial):
                start, end = sorted((self.offset(each.range.start), self.offset(each.range.end)))
                self._set(self.text[:start] + each.text + self.text[end:])
            else:
                self._set(each.text)

    def offset(self, position: types.Position) -> int:
        """Where in the text a position is; behind the end of a line, or of the file, is that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[position.line]
        found = _END.search(self.text, start)
        line = self.text[start : found.start() if found else len(self.text)]
        left = position.character
        for at, character in enumerate(line):
            left -= self._units(character)
            if left < 0:  # within the character, where nothing can be: before it
                return start + at
        return start + len(line)

    def position(self, offset: int) -> types.Position:
        """The position of a place in the text."""
        line = bisect_right(self._starts, offset) - 1
        before = self.text[self._starts[line] : offset]
        return types.Position(line, sum(map(self._units, before)))

    def _units(self, character: str) -> int:
        if self.encoding == types.PositionEncodingKind.Utf8.value:
            return len(character.encode("utf-8", "surrogatepass"))
        return 2 if self.encoding == types.PositionEncodingKind.Utf16.value and ord(character) > 0xFFFF else 1

    def _set(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in _END.finditer(text))]
