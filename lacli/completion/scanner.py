"""An incremental scanner for open brackets, strings and comments, one character at a time.

An approximation without a grammar: it recognises the strings of every language in `languages` except for corner cases,
in which a closing bracket may be miscounted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lacli.text.languages import Language

CLOSES = {")": "(", "]": "[", "}": "{"}
OPENS = "([{"
_BEFORE_REGEX = "(,=:[!&|?{};+~^<>"


@dataclass(frozen=True, slots=True)
class Open:
    """An open bracket, string, comment or regular expression."""

    mark: str
    """What opened it: the bracket, the quotes, the comment mark, or / for a regular expression."""
    line: int
    """Number of line ends before it."""

    @property
    def is_bracket(self) -> bool:
        """Whether its content is code and not the text of a string or comment."""
        return self.mark in OPENS


def in_text(stack: Sequence[Open]) -> bool:
    """Whether the innermost open element is a string, comment or regular expression, in which brackets are text."""
    return bool(stack) and not stack[-1].is_bracket


class Scanner:
    """The state after the characters fed so far."""

    def __init__(self, language: Language, stack: list[Open] | None = None, meaning: str = "\n") -> None:
        self.stack: list[Open] = list(stack or [])
        """Open elements, outermost first."""
        self.line = 0
        """Number of line ends so far."""
        self.missing = 0
        """Number of closing brackets and quotes that closed nothing."""
        self._language = language
        self._last = ""  # the previous character; "" if it must not combine with the next one
        self.meaning = meaning
        """The last non-blank character of code, ignoring comments."""
        self._escaped = False
        self._count = 0  # characters in the string so far
        self._run = 0  # consecutive quotes inside a triple-quoted string
        self._empty = ""  # quote of an empty string just closed: a third one makes it triple-quoted
        self._skip = 0
        self._quoted = 0  # 1 right after a quote that may begin a character literal, 2 one character later
        self._before_slash = "\n"

    def feed(self, character: str) -> str:
        """Process a character. Returns its effect: "open", "close", "missing" (it closed nothing) or ""."""
        if character == "\n":
            self.line += 1
        if not self._language.is_code:
            return ""
        top = self.stack[-1].mark if self.stack else ""
        if top and top not in OPENS:
            return self._inside(top, character)
        return self._code(character)

    def _code(self, character: str) -> str:
        last, self._last = self._last, character
        empty, self._empty = self._empty, ""
        language = self._language
        if self._skip:
            self._skip -= 1
            self._last = ""
            return ""
        if language.name == "rust" and self._is_literal(character):
            return ""
        if character == empty and language.triple and character in language.long_quotes:
            return self._open(3 * character)
        if character in language.quotes:
            return self._open(character)
        if character in OPENS:
            self.meaning = character
            return self._open(character)
        if character in CLOSES:
            self.meaning = character
            return self._close(CLOSES[character])
        pair = last + character
        if language.comment and (pair if len(language.comment) == 2 else character) == language.comment:
            return self._comment(language.comment)
        if language.long_comment[0] and pair.endswith(language.long_comment[0][:2]) and len(pair) == 2:
            return self._comment(language.long_comment[0])
        if character not in " \t\n":
            before, self.meaning = self.meaning, character
            if language.regexes and last == "/" and character not in "/*=" and self._before_slash in _BEFORE_REGEX:
                self._open("/")
                return self._inside("/", character)
            if character == "/":
                self._before_slash = before
        return ""

    def _is_literal(self, character: str) -> bool:
        """Whether this belongs to a character literal; a Rust lifetime also begins with a quote."""
        state, self._quoted = self._quoted, 0
        if character == "'" and state != 1:
            self._quoted = 0 if state else 1
            return True
        if state == 1 and character in '()[]{}"\\':
            self._skip = 1 + (character == "\\")
            return True
        self._quoted = 2 if state == 1 else 0
        return False

    def _comment(self, mark: str) -> str:
        self._last = ""
        return self._open(mark)

    def _inside(self, top: str, character: str) -> str:
        """Process a character within a string, comment or regular expression."""
        last, self._last = self._last, character
        language = self._language
        if top == language.comment:
            return self._close(top) if character == "\n" else ""
        if top == language.long_comment[0]:
            end = language.long_comment[1]
            if (last + character).endswith(end[-2:]):
                self._last = ""
                return self._close(top)
            return ""
        self._count += 1
        if self._escaped:
            self._escaped = False
            self._run = 0
            return ""
        if character == "\\" and not (top == "`" and language.name == "go"):
            self._escaped = True
            return ""
        if len(top) == 3:
            self._run = self._run + 1 if character == top[0] else 0
            return self._close(top) if self._run == 3 else ""
        if character == top:
            self._empty = top if self._count == 1 else ""
            return self._close(top)
        if character == "\n" and (top not in language.long_quotes or language.triple):
            return self._close(top)  # such strings end with their line in any case
        if character == "{" and last == "$" and top == "`":
            return self._open("{")
        return ""

    def _open(self, mark: str) -> str:
        self.stack.append(Open(mark, self.line))
        self._count = self._run = 0
        self._escaped = False
        if mark in self._language.quotes or len(mark) == 3:
            self.meaning = mark
        return "open"

    def _close(self, mark: str) -> str:
        """Close the innermost `mark` and everything left open inside it."""
        for index in range(len(self.stack) - 1, -1, -1):
            if self.stack[index].mark == mark:
                del self.stack[index:]
                self._count = 1  # the enclosing string, if any, is not empty
                return "close"
            if not self.stack[index].is_bracket:
                break
        self.missing += 1
        return "missing"


def scan(text: str, language: Language, stack: list[Open] | None = None) -> Scanner:
    """Scan a text and return the resulting state."""
    scanner = Scanner(language, stack)
    feed = scanner.feed
    for character in text:
        feed(character)
    return scanner
