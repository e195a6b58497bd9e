"""The rule that ends a completion in which the model goes round: within a line, or in lines that grow from each other.

Small models fall into it at a hard place and would write such text up to the limit. See `lacli.completion.rules`.
"""

from __future__ import annotations

import re

from lacli.completion.cursor import Cursor
from lacli.completion.rules import Rule, Written, whole

_LONGEST_ROUND = 64
_LEAST_ROUND = 40
"""So many bytes at least must repeat those before them: `0x00, 0x00` and the like are short."""
_TOLD = 8
"""So many bytes that stood before may be the beginning of a round."""
_ROUNDS = 3
"""So often at least a part of a line must be said again."""
_LONGEST_BLOCK = 4
_NAME = re.compile(rb"(?<![\w\\])[A-Za-z_]")
"""The beginning of a word that is no number and no escape: tables of numbers repeat for good reasons."""
_WORD = re.compile(rb"\w\w")
_GROWN = re.compile(rb"([A-Za-z_]{3,}?)\1+")
_JOINTS = b" \t,;+-*/%=<>|&.?:([{"


class Loops(Rule):
    """Ends the text after the first round."""

    def __init__(self, cursor: Cursor) -> None:
        self._is_code = cursor.language.is_code
        self._skips = not cursor.in_indent  # the rest of the cursor's line is no whole line
        self._lines: list[tuple[bytes, int]] = []
        """Each line as `_shape` has it, and its indentation."""
        self._begins: list[int] = []
        self._runs = [0] * (_LONGEST_BLOCK + 1)
        """For each distance, how many of the last lines are like those so far above them."""

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if byte == 0x0A:
            return self._add(written)
        data, begin = written.data, written.line_begin
        size = _distance(data, begin, _LEAST_ROUND)
        start = len(data) - size - max(_LEAST_ROUND, _ROUNDS * size)
        if not size or start < begin or not data.endswith(data[start : len(data) - size]):
            return None
        return self._once(written, size) if _NAME.search(data, len(data) - 2 * size) else None

    def _once(self, written: Written, size: int) -> int:
        """The end of what is said again every `size` bytes, once; nothing of a line that is not the first."""
        data, begin = written.data, written.line_begin
        if data[:begin].strip():
            return whole(written, begin)
        again = len(data)
        while again > begin + size and data[again - 1] == data[again - 1 - size]:
            again -= 1
        while again > begin and _WORD.fullmatch(data[again - 1 : again + 1]):  # not half a word
            again -= 1
        return max(begin, len(data[:again].rstrip(_JOINTS)))

    def _add(self, written: Written) -> int | None:
        line = written.line[:-1]
        if not self._is_code or not line.strip() or self._skips:
            self._skips = False
            return None
        lead = b"" if written.ends else written.lead
        self._lines.append((_shape(line), len(lead + line) - len(line.lstrip())))
        self._begins.append(written.line_begin)
        for size in range(1, min(_LONGEST_BLOCK, len(self._lines) - 1) + 1):
            (shape, indent), (above, indent_above) = self._lines[-1], self._lines[-1 - size]
            same = shape == above and indent >= indent_above  # what is closed ends further out each time
            self._runs[size] = self._runs[size] + 1 if same else 0
            enough = self._runs[size] >= (_ROUNDS if size == 1 else 2 * size)
            if enough and any(_NAME.search(shape) for shape, _ in self._lines[-size:]):
                return whole(written, self._begins[-self._runs[size]])
        return None

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        begins = [self._begins[-run] for run in self._runs if run]
        begin = written.line_begin
        if not written.data[:begin].strip():
            size = _distance(written.data, begin, _TOLD)
            begins.append(self._once(written, size) if size else max(begin, len(written.data) - _TOLD))
        return min([len(written.data), *begins])


def _distance(data: bytearray, begin: int, count: int) -> int:
    """How far before the last so many bytes of a line the same stand, nearest; 0 for nowhere near."""
    start = len(data) - count
    found = data.rfind(data[start:], max(begin, start - _LONGEST_ROUND), len(data) - 1) if start > begin else -1
    return 0 if found < 0 else start - found


def _shape(line: bytes) -> bytes:
    """A line without its indentation, and every part of a word that repeats once only."""
    return _GROWN.sub(rb"\1", line.strip())
