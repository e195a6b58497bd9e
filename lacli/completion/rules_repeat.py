"""Rules that stop a completion that repeats the text after the cursor, or itself. See `lacli.completion.rules`."""

from __future__ import annotations

import re

from lacli.completion.cursor import Cursor
from lacli.completion.rules import Rule, Written, common_start, whole
from lacli.completion.scanner import in_text

_WORD = re.compile(rb"\w")
_CLOSING = re.compile(rb"[)\]};,\s]*")
_PART = re.compile(rb"\d+|[A-Za-z][a-z]*|[\x80-\xff]+")
"""Numbers, and the words of which names are composed."""
_LONGEST_ALIKE = 240
"""Longer lines are only tested for equality, as comparing them fuzzily would cost too much."""
_LONGEST_BLOCK = 16
_OPENER = {")": "(", "]": "[", "}": "{"}
_LEAST_ALIKE = 3
"""Characters that suffice to recognise the rest of the cursor's line."""
_LEAST_HALF = 6
"""Least characters of a line that is recognised as the first half of another."""
_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_BEGINNING = re.compile(rb"[\w\x80-\xff]+")
_ENDS = b")]}>\"'`;"
"""After these, as after a word, another word cannot follow without a blank."""
_JOINS = b"=.,*&|+-<>"
"""Characters that neither end nor begin a statement."""


class RestOfLine(Rule):
    """Stops where the text repeats the rest of the cursor's line, at the cursor's own depth.

    A possible beginning of it is held back and compared at the end of the text, by `Rules` for all rules alike.
    """

    def __init__(self, cursor: Cursor) -> None:
        self._head = cursor.head.encode("utf-8", "replace")
        self._depth = len(cursor.stack)
        self._lacking = self._depth + cursor.lacking if cursor.lacking else -1
        """If the text has to open brackets that the rest of the line closes: the depth of that rest, else -1."""

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        head = self._head
        if not head:
            return None
        if self._lacking >= 0 and written.done == "close" and len(written.scanner.stack) < self._lacking:
            return self._overran(written)
        end = len(written.data)
        if _is_word(head[-1]):  # it may continue as a longer word
            if _is_word(byte):
                return None
            end -= 1
        begin = end - len(head)
        if begin < 0 or written.data[begin:end] != head:
            return None
        if written.depths[begin] != self._lacking:
            if written.depths[begin] != self._depth:
                return None
            if begin < written.legal and not written.encloses(begin, end):
                return None
        if begin and _is_word(head[0]) and _is_word(written.data[begin - 1]):
            return None
        return begin

    def _overran(self, written: Written) -> int | None:
        """The text closed what the rest of the line has to close. Returns where the two began to agree, if on more than
        a bracket."""
        best, length = None, _LEAST_ALIKE - 1
        for begin, depth in enumerate(written.depths if not written.ends else ()):
            alike = len(common_start(bytes(written.data[begin:]), self._head)) if depth == self._lacking else 0
            if alike > length and _WORD.search(self._head[:alike]):
                best, length = begin, alike
        return best

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        held = self._head and self._lacking >= 0 and not written.ends
        return written.depths.index(self._lacking) if held and self._lacking in written.depths else len(written.data)


class LineRewritten(Rule):
    """Discards a text that begins like the rest of the cursor's line and ends so that this rest cannot follow.

    The model has then rewritten the end of the line with something added, so that it would be there twice.
    """

    def __init__(self, cursor: Cursor) -> None:
        rest = "" if cursor.in_indent else cursor.rest
        self._word = _BEGINNING.match(rest.encode("utf-8", "replace"))
        self._open = self._word is not None

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if self._open and byte == 0x0A:
            return self._judged(written.data[:-1])
        if self._open and self._word is not None:
            word = self._word[0]
            self._open = bytes(written.data[: len(word)]) == word[: len(written.data)]
        return None

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        return 0 if self._open else len(written.data)

    def end(self, written: Written, early: bool) -> int | None:
        """See `Rule`."""
        return self._judged(written.data) if self._open else None

    def _judged(self, line: bytearray) -> int | None:
        self._open = False
        assert self._word is not None
        more = bytes(line[self._word.end() :])
        whole_word = bool(more) and not _is_word(more[0])
        return 0 if whole_word and (_is_word(more[-1]) or more[-1] in _ENDS) else None


class ClosedInText(Rule):
    """Within strings, where brackets are text as in f"{name}", stops before one that is right of the cursor already.

    Brackets that a string opens may stay open.
    """

    def __init__(self, cursor: Cursor) -> None:
        are_text = not cursor.language.is_code or in_text(cursor.stack)
        closes = cursor.head[:1] if are_text else ""
        self._opens, self._closes = _OPENER.get(closes, "").encode(), closes.encode()
        self._depth = len(cursor.stack)
        self._open = 0

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if not self._opens or len(written.scanner.stack) < self._depth:
            self._opens = b""  # the string around the cursor has ended
            return None
        self._open += (byte in self._opens) - (byte in self._closes)
        if self._open < 0:
            return len(written.data) - 1
        if byte in self._closes:
            written.legal = len(written.data)
        return None


class NextLine(Rule):
    """Stops before a line that equals the file's next line, or nearly so, including its indentation.

    Lines of only closing brackets are equal by chance; where brackets matter, `rules_blocks` judges them. Lines that
    differ in a number or a word are members of a series, such as `xs = …` and `ys = …`.
    """

    def __init__(self, cursor: Cursor) -> None:
        line = cursor.next_line.rstrip().encode("utf-8", "replace")
        self._target = line.lstrip(b" \t")
        self._indent = line[: len(line) - len(self._target)]
        counted = cursor.language.is_code and not in_text(cursor.stack)
        self._active = bool(self._target) and not (counted and _CLOSING.fullmatch(self._target))
        self._own = not cursor.in_indent  # on the cursor's line, whose beginning is the user's and not a repetition
        self._keeps = 0 if cursor.next_breaks else len(cursor.before)  # indentation that is before that line already
        most = max(0, -(-len(self._target) // 10) - 1)  # less than a tenth
        self._most = most if len(self._target) <= _LONGEST_ALIKE else 0
        self._start()

    def _start(self) -> None:
        self._blank = True
        self._row = list(range(len(self._target) + 1))
        self._begun = self._active
        self._blanks: list[int] = []  # they only count once more of the line follows

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if not self._active:
            return None
        if byte == 0x0A:
            cut = None if self._own else self._cut(written, written.line[:-1])
            self._own = False
            self._start()
            return cut
        if self._blank and byte in b" \t":
            return None
        if self._blank:
            self._blank = False
            lead = b"" if written.ends else written.lead
            self._begun = lead + written.line[:-1] == self._indent
        if not self._begun or byte in b" \t\r":
            self._blanks.append(byte)
            return None
        for each in (*self._blanks, byte):
            self._compare(each)
        self._blanks.clear()
        return None

    def _compare(self, byte: int) -> None:
        """Compute the next row of the edit distance between this line and all prefixes of the target."""
        before, row = self._row, [self._row[0] + 1]
        for index, wanted in enumerate(self._target):
            row.append(min(before[index] + (byte != wanted), before[index + 1] + 1, row[index] + 1))
        self._row = row
        self._begun = min(row) <= self._most

    def _cut(self, written: Written, line: bytes) -> int | None:
        lead = b"" if written.ends else written.lead
        text = (lead + line).rstrip()
        if text == self._indent + self._target:
            equal = True
        else:
            equal = self._begun and not self._blank and self._row[-1] <= self._most
            equal = equal and _same_words(text, self._target)
        if not equal:
            return None
        written.repeats = True
        return 0 if not written.ends else written.line_begin + self._keeps

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        if not self._active or self._own or not self._begun:
            return len(written.data)
        return written.line_begin

    def end(self, written: Written, early: bool) -> int | None:
        """See `Rule`."""
        if not self._active or self._own:
            return None
        if self._is_half(written.line.strip()):
            return written.line_begin if written.ends else 0
        return self._cut(written, written.line)

    def _is_half(self, text: bytes) -> bool:
        """Whether the text's last line is incomplete and the beginning of the file's next line."""
        rest = self._target[len(text) :].lstrip()
        if not self._target.startswith(text) or not rest or len(text) < max(_LEAST_HALF, len(self._target) / 2):
            return False
        in_word = _is_letter(text[-1]) and _is_letter(self._target[len(text)])
        is_open = any(text.count(left) > text.count(right) for left, right in _PAIRS) and text[-1] != 0x7B
        return in_word or is_open or text[-1] in _JOINS or rest[0] in _JOINS


class Repetition(Rule):
    """Stops where the text repeats a block of lines, or a single line for the third time."""

    def __init__(self, cursor: Cursor) -> None:
        above = [line.rstrip() for line in cursor.above]
        self._lines: list[bytes] = [line.encode("utf-8", "replace") for line in above]
        self._first = cursor.before.encode("utf-8", "replace")
        self._begins: list[int] = [0] * len(above)
        """Offset of each line in the text; 0 for the lines above the cursor."""
        self._runs = [0] * (_LONGEST_BLOCK + 1)
        """Indexed by distance: how many of the last lines equal the line that far above."""

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if byte != 0x0A:
            return None
        return self._add(written, written.line[:-1])

    def _add(self, written: Written, line: bytes) -> int | None:
        if not written.ends:
            line = self._first + line
        self._lines.append(line.rstrip())
        self._begins.append(written.line_begin)
        for size in range(1, min(_LONGEST_BLOCK, len(self._lines) - 1) + 1):
            same = self._lines[-1] == self._lines[-1 - size]
            self._runs[size] = self._runs[size] + 1 if same else 0
            if same and self._runs[size] >= self._needed(size):
                return whole(written, self._begins[-self._runs[size]])
        return None

    def _needed(self, size: int) -> int:
        """How many lines must repeat those `size` lines above: `size`, more if they have little content."""
        words = {line for line in self._lines[-size:] if len(_WORD.findall(line)) > 1}
        return size * (4 if not words else 2 if len(words) == 1 else 1)

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        line = (written.line if written.ends else self._first + written.line).rstrip()
        begins = [len(written.data)]
        for size in range(1, min(_LONGEST_BLOCK, len(self._lines)) + 1):
            if self._lines[-size].startswith(line):  # the current line may continue or begin a repetition
                run = self._runs[size]
                begins.append(self._begins[-run] if run else written.line_begin)
        return min(begins)

    def end(self, written: Written, early: bool) -> int | None:
        """See `Rule`."""
        return self._add(written, written.line) if written.line.strip() else None


def _is_letter(byte: int) -> bool:
    return byte == 0x5F or chr(byte).isalpha()


def _same_words(left: bytes, right: bytes) -> bool:
    """Whether two lines consist of the same words, up to a letter of a long word."""
    ours, theirs = _PART.findall(left), _PART.findall(right)
    return len(ours) == len(theirs) and all(map(_nearly, ours, theirs))


def _nearly(left: bytes, right: bytes) -> bool:
    if left == right or left.isdigit() or right.isdigit():
        return left == right
    shorter, longer = sorted((left, right), key=len)
    head = len(common_start(shorter, longer))
    tail = len(common_start(shorter[::-1], longer[::-1]))
    return 4 * min(len(shorter), head + tail) >= 3 * len(longer)


def _is_word(byte: int) -> bool:
    return byte == 0x5F or byte >= 0x80 or chr(byte).isalnum()
