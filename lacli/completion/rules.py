"""Stop rules for completions, applied byte by byte to the accepted run.

`Rules` is a `Watcher` for `StopStrings`: it feeds every byte to each rule and holds text back only while a rule could
still cut it, so the result does not depend on token or step boundaries. The rules themselves are in `rules_*`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lacli.completion.cursor import Cursor
from lacli.completion.scanner import Scanner

_FENCE = re.compile(rb"[ \t\r\n]*(```[^`\n]{0,40}|`{0,2})")
_BLANKS = b" \t\r\n"
_GOES_ON = ",)]?"
"""Characters that follow a part of a statement, never its end."""
_OPENERS = (b":", b"{", b"(", b"[")
_NOWHERE = -1


@dataclass(slots=True)
class Written:
    """The completion so far, as the rules see it. Offsets are in bytes of `data`."""

    scanner: Scanner
    """Tracks what is open, from before the cursor on."""
    data: bytearray = field(default_factory=bytearray)
    ends: list[int] = field(default_factory=list)
    """Offsets of its line ends, without one written by the last byte."""
    solid: int = 0
    """End of the last non-blank byte, not counting the last byte."""
    legal: int = 0
    """End of the last bracket or quote that correctly closed something."""
    depths: list[int] = field(default_factory=list)
    """Depth of the open stack before each byte."""
    done: str = ""
    """Effect of the last byte; see `Scanner.feed`."""
    repeats: bool = False
    """Whether the file's next line was repeated, which also tells how many blank lines precede it."""
    lead: bytes = b""
    """Indentation before the text on the cursor's line, as written by or shown to the model."""
    closed: bool = True
    """Whether a line that opens a block is dropped if its block is."""

    @property
    def line_begin(self) -> int:
        """Offset of the current line; 0 on the cursor's line."""
        return self.ends[-1] + 1 if self.ends else 0

    @property
    def line(self) -> bytes:
        """The current line."""
        return bytes(self.data[self.line_begin :])

    def encloses(self, begin: int, end: int) -> bool:
        """Whether this range opens something and closes only what it opened, so that it can be removed as a whole."""
        inside = [*self.depths, len(self.scanner.stack)][begin + 1 : end + 1]
        return max(inside) > self.depths[begin] <= min(inside)


def whole(written: Written, cut: int) -> int:
    """Move a cut before lines that open a block of which nothing is left; but the first line is kept."""
    while written.closed:
        text = written.data[:cut].rstrip(_BLANKS)
        begin = text.rfind(b"\n") + 1
        if not text.endswith(_OPENERS) or not text[:begin].strip(_BLANKS):
            break
        cut = begin
    return cut


class Rule:
    """One stop condition, fed each byte after `Written` has been updated. This base class never stops."""

    def feed(self, written: Written, byte: int) -> int | None:
        """The length that remains of the text if the condition is met with this byte, else None."""
        return None

    def safe(self, written: Written) -> int:
        """The length of the prefix that this rule can no longer cut."""
        return len(written.data)

    def end(self, written: Written, early: bool) -> int | None:
        """The text has ended, by the model or, if `early`, by a limit. The length that remains if the condition is met
        at the end, else None."""
        return None


class Rules:
    """All stop rules of one completion; a `lacli.text.stops.Watcher`."""

    def __init__(self, cursor: Cursor, rules: list[Rule], blanks: str, fences: bool, goes_on: bool) -> None:
        """`blanks`: whitespace before the cursor that the model was not shown; removed where it writes it again.

        `fences`: remove a Markdown code fence around the text. `goes_on`: the model did not see the text after the
        cursor, so its completion always consists of lines of its own.
        """
        self._cursor = cursor
        self._rules = rules
        self._blanks = blanks.encode()
        self._fences = fences
        self._goes_on = goes_on
        self._written = Written(
            Scanner(cursor.language, list(cursor.stack), cursor.meaning),
            closed=cursor.language.is_code and not cursor.lacking,
        )
        self._copy = _line_above(cursor)
        self._sure = 0
        self._opening: bytearray | None = bytearray()  # bytes that may still turn out not to be part of the text
        self.begin = 0
        """Bytes at the front that are not part of the text."""
        self.ending = ""
        """Line end and indentation to add before the rest of the file's line, if the text does not end with them."""

    def feed(self, byte: int) -> int | None:
        """See `Watcher`."""
        if self._opening is None:
            return self._take(byte)
        self._opening.append(byte)
        return self._open(over=False)

    @property
    def safe(self) -> int:
        """See `Watcher`."""
        return self.begin + self._sure

    def end(self, early: bool = False) -> int | None:
        """See `Watcher`."""
        if self._opening is not None:
            cut = self._open(over=True)
            if cut is not None:
                return cut
        written = self._written
        length = len(written.data)
        ends = [end for rule in self._rules if (end := rule.end(written, early)) is not None]
        cut = self._finished(min([length, *ends]))
        return None if cut == length else self.begin + cut

    def _open(self, over: bool) -> int | None:
        """Decide which leading bytes are not text, then process the rest; nothing while undecided."""
        assert self._opening is not None
        data = bytes(self._opening)
        skip = self._skipped(data, over)
        if skip is None:
            return None
        self._opening = None
        if skip == _NOWHERE:
            self.begin = len(data)
            return self.begin
        self.begin = skip
        for byte in data[skip:]:
            cut = self._take(byte)
            if cut is not None:
                return cut
        return None

    def _skipped(self, data: bytes, over: bool) -> int | None:
        """The number of leading bytes that are not text: a fence's first line, or whitespace that is in the file.

        None while undecided; `_NOWHERE` if the model continues on the line before instead of at the cursor.
        """
        start = _fence_end(data, over) if self._fences else 0
        if start is None:
            return len(data) if over else None
        text = data[start:].lstrip(_BLANKS)
        if not text and not over:
            return None
        blanks = data[start : len(data) - len(text)]
        if not self._blanks:
            self._written.lead = self._cursor.before.encode() if self._cursor.in_indent else b""
            return start
        wanted = self._blanks.count(b"\n")
        if wanted and b"\n" not in blanks:
            return _NOWHERE
        at = _end_of_line(blanks, min(wanted, blanks.count(b"\n")))
        lead = common_start(blanks[at:], self._blanks.rpartition(b"\n")[2])
        self._written.lead = lead if self._cursor.in_indent else b""
        return start + at + len(lead)

    def _take(self, byte: int) -> int | None:
        written = self._written
        written.depths.append(len(written.scanner.stack))
        written.data.append(byte)
        written.done = written.scanner.feed(chr(byte))
        if written.done == "close" and byte != 0x0A and len(written.scanner.stack) >= self._cursor.kept:
            written.legal = len(written.data)
        cuts = [cut for rule in self._rules if (cut := rule.feed(written, byte)) is not None]
        if byte == 0x0A:
            written.ends.append(len(written.data) - 1)
        if byte not in _BLANKS:
            written.solid = len(written.data)
        if cuts:
            return self.begin + self._finished(min(cuts))
        self._sure = max(self._sure, self._certain())
        return None

    def _certain(self) -> int:
        """The length of the prefix that no rule can cut any more; evaluated per byte, independent of steps."""
        written = self._written
        until = min([written.solid, *(rule.safe(written) for rule in self._rules)])
        until = self._overlap(len(written.data[:until].rstrip(_BLANKS)))
        return 0 if self._copy.startswith(bytes(written.data[:until]).strip(_BLANKS)) else until

    def _finished(self, cut: int) -> int:
        cut = self._settled(cut)
        data, cursor = self._written.data, self._cursor
        lines = self._goes_on or b"\n" in data
        if cursor.in_indent and cursor.rest.strip() and lines and data[:cut].strip(_BLANKS):
            needed = b"\n" + cursor.before.encode()
            kept = next(count for count in range(len(needed), -1, -1) if data[:cut].endswith(needed[:count]))
            self.ending = needed[kept:].decode()
        return cut

    def _settled(self, cut: int) -> int:
        """Move a cut so that the text joins the file, but not into what may have been shown already."""
        return max(self._sure, self._joined(self._overlap(cut)))

    def _joined(self, cut: int) -> int:
        """Move a cut before a copy of the line above and before surplus whitespace."""
        data, cursor = self._written.data, self._cursor
        solid = len(data[:cut].rstrip(_BLANKS))
        if not solid or data[:solid].lstrip(_BLANKS) == self._copy:
            return 0
        tail = bytes(data[solid:cut])
        if cursor.head:
            if cursor.language.is_code and cursor.head[0] in _GOES_ON and data[:solid].endswith(b";"):
                return solid - 1  # the statement continues
            apart = b"\n" in tail and b"\n" not in data[:solid]
            return solid if apart or (cursor.rest[0] in " \t" and b"\n" not in tail) else cut
        if cursor.rest.strip():  # the text precedes a line of the file, whose indentation may be here already
            last = tail.rfind(b"\n")
            if last < 0:
                return cut
            indent = cursor.before.encode()
            return solid + last + 1 + (len(indent) if tail[last + 1 :].startswith(indent) else 0)
        if cursor.at_end:
            return solid + (cursor.ends_line and tail.startswith(b"\n"))
        return solid + (_end_of_line(tail, tail.count(b"\n") - cursor.breaks) if self._written.repeats else 0)

    def _overlap(self, cut: int) -> int:
        """Cut an overlap: the longest end of the text that is also the beginning of the text right of the cursor.

        A closing bracket is only removed together with the opening one of the text.
        """
        head = self._cursor.head.encode()
        written = self._written
        data = written.data[:cut]
        solid = len(data.rstrip(_BLANKS))
        for begin in range(max(0, solid - len(head)), solid):
            if data[begin:solid] == head[: solid - begin] and (
                begin >= written.legal or written.encloses(begin, solid)
            ):
                return begin
        return cut


def _line_above(cursor: Cursor) -> bytes:
    """The nearest line above with words in it, which a completion must not repeat; a blank if there is none."""
    lines = (*cursor.above, "" if cursor.in_indent else cursor.before)
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return line.encode("utf-8", "replace") if re.search(r"\w", line) else b" "


def _fence_end(data: bytes, over: bool) -> int | None:
    """Offset after the first line of a code fence; 0 if there is none, None while one may still come."""
    fence = _FENCE.match(data)
    assert fence is not None
    if fence.end() < len(data):
        opened = fence[1].startswith(b"```") and data[fence.end() :].startswith(b"\n")
        return fence.end() + 1 if opened else 0
    return None if fence[1].startswith(b"```") or (fence[1] and not over) else 0


def common_start(left: bytes, right: bytes) -> bytes:
    """The common prefix."""
    count = next((at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), None)
    return left[: min(len(left), len(right)) if count is None else count]


def _end_of_line(data: bytes, count: int) -> int:
    """Offset after the first `count` line ends; 0 for none or less."""
    end = 0
    for _ in range(count):
        end = data.index(b"\n", end) + 1
    return end
