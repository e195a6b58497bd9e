"""Whether a file parses with a completion inserted, and similar texts with which it would. Pure.

The stop rules judge a text roughly while it is written; here the language's grammar judges the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lacli.completion.cursor import Cursor
from lacli.completion.scanner import CLOSES, scan
from lacli.completion.window import REACH
from lacli.edits.tree.syntax import broken_above, has_grammar, is_sound
from lacli.events import Place
from lacli.text.stops import Watcher

_MOST_TRIMMED = 4
"""Most surplus characters at the end of a text that are dropped: brackets, quotes, commas."""
_MOST_CLOSED = 4
"""Most brackets and strings left open by a text that are closed."""
_ENDS = ")]}>\"'`,;:"
_SCANNED = 1 << 15
_PART = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"\w")
_CLOSER = {opens: closes for closes, opens in CLOSES.items()}


class Fit:
    """The file around a place, for testing texts to be inserted there."""

    def __init__(self, place: Place, cursor: Cursor, past: Callable[[int], Watcher]) -> None:
        """past: makes the stop rules of a text that may continue, for so many lines, where the usual ones ended it."""
        self.past = past
        self._place = place
        self._cursor = cursor
        self._language = cursor.language.name
        self._known: dict[str, bool] = {}

    @property
    def judges(self) -> bool:
        """Whether parsing is a test here: the file is complete and its language has a grammar."""
        place = self._place
        whole = len(place.prefix) < REACH > len(place.suffix) and not place.boundary
        return whole and has_grammar(self._language)

    @property
    def is_broken(self) -> bool:
        """Whether the file has a syntax error above the place, which no text at the place can fix."""
        place = self._place
        return broken_above(place.prefix + place.suffix, self._language, place.prefix.count("\n"))

    def sound(self, text: str) -> bool:
        """Whether the file parses with this text inserted."""
        if text not in self._known:
            place = self._place
            self._known[text] = bool(is_sound(place.prefix + text + place.suffix, self._language))
        return self._known[text]

    def longer(self, text: str, past: str) -> str | None:
        """The shortest continuation of this text along `past` with which the file parses.

        Within the first line it may end after any token, else at a line end; never after a copy of the file's next
        line.
        """
        if not past.startswith(text.rstrip()):
            return None
        pattern = _PART if self._cursor.head and text.strip() else re.compile(r"[^\n]+")
        for found in pattern.finditer(past):
            longer = past[: found.end()].rstrip()
            begin = longer.rfind("\n") + 1
            if begin and _WORD.search(longer[begin:]) and longer[begin:].strip() == self._cursor.next_line.strip():
                return None
            if len(longer) > len(text.rstrip()) and self.sound(longer):
                return longer
        return None

    def nearest(self, text: str) -> str | None:
        """The same text with a bracket or quote more or fewer at its end, with which the file parses; else as many of
        its first lines as parse."""
        for near in (*self._opened(text), *self._trimmed(text), *self._closed(text), *_first_lines(text)):
            if near.strip() and self.sound(near):
                return near
        return None

    def part(self, text: str) -> str | None:
        """The longest prefix of a text, ending with a token, with which the file parses."""
        ends = [found.end() for found in _PART.finditer(text)]
        parts = (text[:end] for end in reversed(ends))
        return next((part for part in parts if _WORD.search(part) and self.sound(part)), None)

    def _opened(self, text: str) -> Iterator[str]:
        """Variants that open the block with which the file continues."""
        text = text.rstrip()
        if self._cursor.language.blocks == "indent":
            yield text + ":"
        elif self._cursor.lacking:
            yield text + " {"

    def _trimmed(self, text: str) -> Iterator[str]:
        text = text.rstrip()
        for _ in range(_MOST_TRIMMED):
            if not text or text[-1] not in _ENDS:
                return
            text = text[:-1].rstrip()
            yield text

    def _closed(self, text: str) -> Iterator[str]:
        """Variants that close what the text leaves open, innermost first: on the same line, or on a line of its own."""
        cursor = self._cursor
        text = text.rstrip()
        lines = self._place.scope != "line" and ("\n" in text or cursor.in_indent)
        indent = re.match(r"[ \t]*", cursor.before)
        assert indent is not None
        ends = ""
        for each in reversed(scan(self._place.prefix[-_SCANNED:] + text, cursor.language).stack[-_MOST_CLOSED:]):
            if each.mark == cursor.language.comment:
                return
            begins, closes = cursor.language.long_comment
            ends += closes if begins and each.mark == begins else _CLOSER.get(each.mark, each.mark)
            below = f"{text}\n{indent[0]}{ends}"
            if not lines:
                yield text + ends
            elif each.mark == "{" or (len(each.mark) > 1 and ("\n" in text or each in cursor.stack)):
                yield from (below, text + ends)
            else:
                yield from (text + ends, below)


def _first_lines(text: str) -> Iterator[str]:
    """The text without its last line, without its last two, and so on."""
    while "\n" in text:
        text = text.rpartition("\n")[0].rstrip()
        yield text
