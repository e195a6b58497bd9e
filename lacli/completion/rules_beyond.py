"""Rules that stop a completion that writes what is beyond its place: another function, or the suffix itself.

They cover what indentation and brackets do not tell, as when a bracket was left open. See `lacli.completion.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lacli.completion.cursor import Cursor
from lacli.completion.rules import Rule, Written
from lacli.completion.rules_blocks import indent_of, nearest_to, statement_of
from lacli.completion.scanner import in_text

_BEGINS = re.compile(
    rb"(?:(?:pub(?:\([a-z]+\))?|export|default|async|static|unsafe|abstract|private|protected|public)\s+)*"
    rb"(?:def|class|fn|func|function|struct|enum|trait|impl|interface)[ \t<*]"
)
_MAY_BEGIN = re.compile(rb"[a-z() \t]+")
_NOTES = b"/#@*"
"""First characters of comments, decorators and attributes."""
_BLANKS = b" \t\r"
_WORD = re.compile(rb"\w")
_MARKS = re.compile(rb"^[^\w\x80-\xff]+")
_BETWEEN = " ,.:;!?"
_SENTENCE = re.compile(rb"[A-Z][a-z]*(?:[,;:]? [`*\"']{0,2}[A-Za-z][\w'()./-]*[`*\"']{0,2}){5}[ ,.:;!?]")
_MAY_BE_SENTENCE = re.compile(rb"[A-Z][\w ,;:`*\"'()./-]*")
_LIKE_PROSE = ("sql", "haskell")
"""Languages in which six words in a row may be code."""
_LEAST_LETTERS = 8
"""Least letters of a line that counts as a copy of the suffix; shorter ones may be intended."""


class OtherFunction(Rule):
    """Stops before another function or type that is indented less than the cursor's statement.

    Comments, decorators and blank lines above it are cut with it; without a definition after them they are kept.
    """

    def __init__(self, cursor: Cursor) -> None:
        own = statement_of(cursor) if cursor.language.blocks == "indent" else cursor.before
        self._limit = indent_of(nearest_to(cursor) if cursor.in_indent else own)
        self._limit += cursor.before.rstrip().endswith(("{", ":"))  # the block that it opens is indented further
        self._from: int | None = None
        """Start of the lines that may belong to it."""
        self._line = "plain"
        """Kind of the current line so far: blank, note, head or plain."""

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if byte == 0x0A:
            if self._line in ("plain", "head"):
                self._from = len(written.data)
            self._line = "blank"
            return None
        if self._line == "blank" and byte not in _BLANKS:
            left = len(written.line) - 1 < self._limit
            in_code = not in_text(written.scanner.stack) or byte in _NOTES
            self._line = "plain" if not left or not in_code else "note" if byte in _NOTES else "head"
        if self._line == "head":
            text = written.line.lstrip(_BLANKS)
            if _BEGINS.match(text):
                return self._from
            if not _MAY_BEGIN.fullmatch(text):
                self._line = "plain"
        return None

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        return len(written.data) if self._line == "plain" or self._from is None else self._from


class Frame(Rule):
    """Stops before a line that repeats one of the headings with which the prompt frames the file."""

    def __init__(self, headings: Iterable[str]) -> None:
        self._headings = [heading.encode("utf-8", "replace") for heading in headings]

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if not any(byte == heading[-1] for heading in self._headings):
            return None
        line = written.line
        return written.line_begin if any(line.endswith(heading) for heading in self._headings) else None

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        line = _MARKS.sub(b"", written.line)
        begun = bool(line) and any(heading.startswith(line) for heading in self._headings)
        return written.line_begin if begun else len(written.data)


class Prose(Rule):
    """At the end of a code file, stops before a sentence of prose, in which a model explains what it wrote."""

    def __init__(self, cursor: Cursor) -> None:
        language = cursor.language
        last = next((line for line in (cursor.before, *reversed(cursor.above)) if line.strip()), "").rstrip()
        closed = language.name == "html" and last.endswith(">") and "</" in last
        self._active = cursor.at_end and (closed or (language.is_code and language.name not in _LIKE_PROSE))
        self._line = cursor.in_indent and not in_text(cursor.stack)
        """Whether the current line may be prose."""

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if byte == 0x0A:
            self._line = not in_text(written.scanner.stack)
            return None
        if not self._active or not self._line or chr(byte) not in _BETWEEN:
            return None
        return written.line_begin if _SENTENCE.match(written.line) else None

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        maybe = self._active and self._line and _MAY_BE_SENTENCE.fullmatch(written.line)
        return written.line_begin if maybe else len(written.data)


class SuffixAtOnce(Rule):
    """Discards a text that begins, on the cursor's line, with the next two lines of the file."""

    def __init__(self, cursor: Cursor) -> None:
        lines = [line.strip().encode("utf-8", "replace") for line in (cursor.below, cursor.second)]
        told = all(lines) and len(_WORD.findall(lines[0])) >= _LEAST_LETTERS
        self._lines = lines if told and not cursor.in_indent and not cursor.head else []
        self._at = 0

    def feed(self, written: Written, byte: int) -> int | None:
        """See `Rule`."""
        if not self._lines:
            return None
        text = written.line.strip()
        if byte == 0x0A:
            if text and text != self._lines[self._at]:
                self._lines = []
            elif text:
                self._at += 1
        elif not self._lines[self._at].startswith(text):
            self._lines = []
        return 0 if self._lines and self._at == len(self._lines) else None

    def safe(self, written: Written) -> int:
        """See `Rule`."""
        return 0 if self._lines else len(written.data)

    def end(self, written: Written, early: bool) -> int | None:
        """See `Rule`."""
        return 0 if self._lines and self._at else None
