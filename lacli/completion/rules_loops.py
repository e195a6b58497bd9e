"""The rule that stops a completion that loops: within a line, or in lines that grow from one to the next.

Small models get into such loops and would continue to the token limit. See `lacli.completion.rules`.
"""

from __future__ import annotations

import re

from lacli.completion.cursor import Cursor
from lacli.completion.rules import Rule, Written, whole

_LONGEST_ROUND = 64
_LEAST_ROUND = 40
"""Least bytes that must be repeated within a line; `0x00, 0x00` and the like are shorter."""
_TOLD = 8
"""Bytes that must have occurred before for a repetition to be considered."""
_ROUNDS = 3
"""Least number of repetitions of a part of a line."""
_LONGEST_BLOCK = 4
_NAME = re.compile(rb"(?<![\w\\])[A-Za-z_]")
"""The beginning of a word, but not of a number or an escape: tables of numbers repeat legitimately."""
_WORD = re.compile(rb"\w\w")
_GROWN = re.compile(rb"([A-Za-z_]{3,}?)\1+")
_JOINTS = b" \t,;+-*/%=<>|&.?:([{"


class Loops(Rule):
    """Stops after the first round of a loop."""

    def __init__(self, cursor: Cursor) -> None:
        self._is_code = cursor.language.is_code
        self._skips = not cursor.in_indent  # the rest of the cursor's line is not a whole line
        self._lines: list[tuple[bytes, int]] = []
        """For each line its `_shape` and its indentation."""
        self._begins: list[int] = []
        self._runs = [0] * (_LONGEST_BLOCK + 1)
        """Indexed by distance: how many of the last lines have the shape of the line that far above."""

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
        """The end of the first round of a repetition of period `size`; beyond the first line, the line's beginning."""
        data, begin = written.data, written.line_begin
        if data[:begin].strip():
            return whole(written, begin)
        again = len(data)
        while again > begin + size and data[again - 1] == data[again - 1 - size]:
            again -= 1
        while again > begin and _WORD.fullmatch(data[again - 1 : again + 1]):  # do not cut within a word
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
            same = shape == above and indent >= indent_above  # closing lines are indented less each time
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
    """The least distance at which the last `count` bytes of a line occurred before; 0 if not nearby."""
    start = len(data) - count
    found = data.rfind(data[start:], max(begin, start - _LONGEST_ROUND), len(data) - 1) if start > begin else -1
    return 0 if found < 0 else start - found


def _shape(line: bytes) -> bytes:
    """A line without its indentation and with repeated parts of words collapsed to one."""
    return _GROWN.sub(rb"\1", line.strip())
