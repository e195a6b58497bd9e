"""Rules that stop a completion at the end of its block or at its limits. See `lacli.completion.rules`."""

from __future__ import annotations

from collections.abc import Sequence

from lacli.completion.cursor import Cursor
from lacli.completion.rules import Rule, Written, whole
from lacli.completion.scanner import Open, in_text

_GOES_ON = frozenset({"else", "elif", "except", "finally"})
_FENCE, _CLOSING = b"```", b")]}"
_FAR = 30
"""Lines after which a bracket that still seems open has more likely been miscounted."""


def block_rule(cursor: Cursor) -> Rule | None:
    """The rule that keeps a completion inside its block; None if the language's blocks are not known."""
    if cursor.language.blocks == "indent":
        return IndentedBlock(cursor)
    return BracedBlock(cursor) if cursor.language.blocks == "brace" else None


class Brackets(Rule):
    """Stops before a bracket or quote that closes nothing, or what is already closed after the cursor.

    Brackets left open at the end are not judged here.
    """

    def __init__(self, cursor: Cursor) -> None:
        self._kept = cursor.kept
        self._lacking = len(cursor.stack) + cursor.lacking if cursor.lacking else 0
        """Depth required at the end of the text if it exceeds that at the beginning, else 0."""
        self._next = cursor.next_line.encode("utf-8", "replace")
        self._language = cursor.language
        self._end = self._end_of(cursor.stack[-1:])
        """The terminator of the multi-line string or comment that is open; it must not even be begun."""

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        stack, end = written.scanner.stack, self._end
        if written.done == "missing" or len(stack) < self._kept:
            return len(written.data) - (len(end) if end and written.data.endswith(end) else 1)
        if self._lacking and written.done == "close" and len(stack) < self._lacking and byte in _CLOSING:
            line = written.line if written.ends else written.lead + written.line
            if self._next.startswith(line):
                return len(written.data) - 1
        if written.done:
            self._end = self._end_of(stack[-1:])
        return None

    def _end_of(self, top: Sequence[Open]) -> bytes:
        if not top:
            return b""
        begins, ends = self._language.long_comment
        return (ends if begins and top[0].mark == begins else top[0].mark if len(top[0].mark) == 3 else "").encode()

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        data = written.data
        begun = next((count for count in range(len(self._end) - 1, 0, -1) if data.endswith(self._end[:count])), 0)
        return len(data) - begun


class IndentedBlock(Rule):
    """Stops before a line that is indented less than the cursor's block."""

    def __init__(self, cursor: Cursor) -> None:
        self._stale = sum(cursor.line - each.line > _FAR for each in cursor.stack)
        self._header = not cursor.in_indent  # whether the cursor's statement continues and may open the block
        self._inner = False  # whether a statement at column 0 has got its block
        self._waits = False  # whether the first word of a line is still incomplete
        self._first = True
        self._floor = _floor_of(cursor) if cursor.in_indent else indent_of(statement_of(cursor))
        self._inside = self._floor > 0

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if byte == 0x0A:
            if self._header and len(written.scanner.stack) <= self._stale:
                self._header = False
                self._floor += written.scanner.meaning == ":"
            return self._word(written)
        begin = written.line_begin
        if self._waits:
            return None if chr(byte).isalpha() else self._word(written)
        if byte in b" \t\r" or written.data[begin:-1].strip():
            return None
        if (
            self._inside
            and written.ends
            and begin == len(written.data) - 1
            and _is_letter(byte)
            and not in_text(written.scanner.stack)
        ):
            return begin  # at column 0, whatever bracket was left open
        if self._header:
            return None
        if written.depths[begin] > self._stale:  # the line continues a statement or string begun above
            return None
        return self._line_begins(written, begin)

    def _line_begins(self, written: Written, begin: int) -> int | None:
        first, self._first = self._first, False
        indent = len(written.data) - 1 - begin + (0 if written.ends else len(written.lead))
        if indent < self._floor:
            return begin
        if indent:
            self._inner = self._inner or not self._floor
            self._floor = max(self._floor, 1 if first else 0)
        elif self._inner:
            self._waits = True
        return None

    def _word(self, written: Written) -> int | None:
        """Judge a line at column 0 once its first word is complete: does it continue the statement before (`else`)?"""
        if not self._waits:
            return None
        self._waits = False
        word = written.line[:-1].decode("utf-8", "replace").strip()
        return None if word in _GOES_ON else written.line_begin

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        return written.line_begin if self._waits else len(written.data)

    def end(self, written: Written, early: bool) -> int | None:
        """See `Rule`."""
        return written.line_begin if self._waits and written.line.decode("utf-8", "replace") not in _GOES_ON else None


def _floor_of(cursor: Cursor) -> int:
    """Least indentation of lines in the block of a cursor that has only whitespace before it."""
    above = next((line for line in reversed(cursor.above) if line.strip()), "")
    if above.partition("#")[0].rstrip().endswith(":"):
        return indent_of(above) + 1
    if cursor.before:
        return min(len(cursor.before), indent_of(above) or len(cursor.before))
    return min(indent_of(above), indent_of(cursor.next_line)) if cursor.next_line else 0


def statement_of(cursor: Cursor) -> str:
    """The line on which the cursor's statement begins; further up if brackets were opened there."""
    opened = [each.line for each in cursor.stack if each.is_bracket]
    if opened and 0 < cursor.line - opened[0] <= len(cursor.above):
        return cursor.above[opened[0] - cursor.line]
    return cursor.before


def indent_of(line: str) -> int:
    """The width of a line's indentation."""
    return len(line) - len(line.lstrip(" \t"))


class BracedBlock(Rule):
    """Stops once the cursor's block, or the block opened by its own statement, is closed."""

    def __init__(self, cursor: Cursor) -> None:
        self._stack = cursor.stack
        self._depth = len(cursor.stack)
        self._at_left = cursor.in_indent and not cursor.before
        self._indent = indent_of(nearest_to(cursor) if cursor.in_indent else cursor.before)
        self._outermost = not any(each.mark == "{" for each in cursor.stack)
        self._own = self._outermost or not cursor.in_indent  # whether the statement begun here is the block
        self._opened = False  # whether it has opened a brace
        self._closed = False  # whether the block around the cursor was closed

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        stack = written.scanner.stack
        if written.done == "close" and len(stack) < self._depth:
            self._closed = self._closed or any(each.mark == "{" for each in self._stack[len(stack) :])
        elif written.done == "open" and byte == 0x7B and self._own:
            self._opened = True
        if byte == 0x0A:
            over = self._closed or (self._opened and len(stack) <= self._depth)
            if not written.ends and not self._opened and written.data.strip():
                self._own = self._outermost  # the cursor's statement opened none
            return len(written.data) if over and len(stack) <= self._depth else None
        begin = written.line_begin
        if begin == len(written.data) - 1 and self._indent and byte not in b" \t\r)]}#":
            left = bool(written.ends) or self._at_left
            if left and written.depths[begin] <= self._depth and not _in_string(written):
                return begin  # at column 0: what follows the function
        return None


def nearest_to(cursor: Cursor) -> str:
    """The line that gives the indentation for a cursor with only whitespace before it."""
    return next((line for line in reversed(cursor.above) if line.strip()), "") if not cursor.before else cursor.before


class MostLines(Rule):
    """Stops after so many lines, not counting leading blank ones."""

    def __init__(self, most: int) -> None:
        self._left = most

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if byte == 0x0A and written.solid:
            self._left -= 1
        return None if self._left else len(written.data)


class WholeLines(Rule):
    """At the token limit, cuts back to the last complete line that opens nothing, if there is one."""

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        begin = written.line_begin
        return whole(written, begin) if written.data[:begin].strip() else len(written.data)

    def end(self, written: Written, early: bool) -> int | None:
        """See `Rule`."""
        return self.safe(written) if early else None


class Fence(Rule):
    """Stops before a line with a Markdown code fence, which is not code."""

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if byte != _FENCE[0] or written.line.strip() != _FENCE:
            return None
        return None if _in_string(written) else written.line_begin

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        line = written.line.strip()
        return written.line_begin if line and _FENCE.startswith(line) else len(written.data)


def _is_letter(byte: int) -> bool:
    return chr(byte).isalpha()


def _in_string(written: Written) -> bool:
    """Whether the last byte is in a multi-line string or comment, where a fence is text."""
    stack = written.scanner.stack
    return in_text(stack) and stack[-1].mark != "`"
