"""Analyses the text around the cursor of a completion, for stop rules and prompts. Pure: a `Place` in, facts out."""

from __future__ import annotations

from dataclasses import dataclass

from lacli.completion.scanner import CLOSES, OPENS, Open, Scanner, in_text, scan
from lacli.events import Place
from lacli.text.languages import Language, language_of

_SCANNED = 1 << 15
"""Characters scanned for brackets on either side of the cursor."""
_LINES_ABOVE = 16
_GOES_ON = "([{,:=+-*/%<>|&.!?~^@\\ \t"
"""After these characters a line of code continues or opens a block; a typed blank means that it continues."""
_TEXT_GOES_ON = "([{,:=- \t"
"""The same for lines of prose and markup, which a tag or a sentence may end."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The surroundings of a place in a file."""

    language: Language
    before: str
    """The cursor's line up to the cursor."""
    rest: str
    """The cursor's line from the cursor on."""
    above: tuple[str, ...]
    """The lines above, nearest last."""
    below: str
    """The next non-blank line below the cursor's."""
    second: str
    """The next non-blank line below that."""
    breaks: int
    """Line ends from the cursor to `below`; 0 if there is no such line."""
    at_end: bool
    """Whether only whitespace follows in the file."""
    ends_line: bool
    """At the end of a file: whether its last line ended with a line break, so that a new last line gets one, too."""
    stack: tuple[Open, ...]
    """Brackets, strings and comments open at the cursor, outermost first."""
    kept: int
    """How many of these, counted from the outermost, are closed after the cursor, and so not by the completion."""
    lacking: int
    """How many more are closed after the cursor than are open: the completion has to leave that many open."""
    meaning: str
    """The last character of code before the cursor; see `Scanner.meaning`."""
    line: int
    """The index of the cursor's line, as in `Open.line`."""

    @property
    def in_indent(self) -> bool:
        """Whether the cursor's line has only whitespace before the cursor."""
        return not self.before.strip()

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing here: there is text right before the cursor, and the statement of its line is
        complete.

        A rough test of brackets and the last character, good enough to believe a model that writes nothing here.
        """
        if self.in_indent:
            return bool(self.rest.strip())
        begun = len(self.stack) > self.kept or self.lacking > 0
        return not begun and self.before[-1] not in (_GOES_ON if self.language.is_code else _TEXT_GOES_ON)

    @property
    def head(self) -> str:
        """The rest of the cursor's line, as far as it belongs to the same construct; empty if that continues below."""
        return "" if self.in_indent else self.rest.strip()

    @property
    def next_line(self) -> str:
        """The line, with its indentation, with which the file continues after the completion."""
        return self.before + self.rest if self.in_indent and self.rest.strip() else self.below

    @property
    def next_breaks(self) -> int:
        """Line ends from the cursor to `next_line`."""
        return 0 if self.in_indent and self.rest.strip() else self.breaks


def cursor_of(place: Place) -> Cursor:
    """Analyse a place."""
    prefix, suffix = place.prefix, place.suffix
    language = language_of(place.path, prefix[-_SCANNED:] + suffix[:_SCANNED], place.language)
    *above, before = prefix[-_SCANNED:].split("\n")
    rest, _, lower = suffix.partition("\n")
    stripped = lower.lstrip()
    blank = lower[: len(lower) - len(stripped)]
    below = blank.rpartition("\n")[2] + stripped.partition("\n")[0] if stripped else ""
    further = stripped.partition("\n")[2].lstrip()
    scanned = scan(prefix[-_SCANNED:], language)
    closed = _closed_behind(suffix, scanned, language)
    return Cursor(
        language=language,
        before=before,
        rest=rest,
        above=tuple(above[-_LINES_ABOVE:]),
        below=below,
        second=further.partition("\n")[0],
        breaks=1 + blank.count("\n") if stripped else 0,
        at_end=not suffix.strip(),
        ends_line=not before and (bool(above) or not prefix),
        stack=tuple(scanned.stack),
        kept=min(closed, len(scanned.stack) - _own(before, scanned, suffix)),
        lacking=max(0, closed - len(scanned.stack)),
        meaning=scanned.meaning,
        line=scanned.line,
    )


def _closed_behind(suffix: str, scanned: Scanner, language: Language) -> int:
    """How much of the open stack is closed after the cursor; more than its length if the completion lacks openings."""
    stack = scanned.stack
    top = stack[-1] if in_text(stack) else None
    most = len(stack)
    if top is not None and not _text_closes(suffix, top, language):
        most -= 1  # an unterminated string, which the completion has to end; a comment ends with its line
        if top.mark == language.comment:
            suffix = suffix.partition("\n")[2]
        top = None
    if any(not each.is_bracket for each in stack[:-1]):  # code within a string: an interpolation
        closed = most - _lowest(suffix, stack[:most], language)
    else:
        closed = scan(suffix[:_SCANNED], language, [] if top is None else [top]).missing + (top is not None)
    if len(suffix) > _SCANNED:  # the others may be closed further down
        closed = max(closed, sum(each.line < scanned.line for each in stack))
    return closed if most == len(stack) else min(closed, most)


def _own(before: str, scanned: Scanner, suffix: str) -> int:
    """How many brackets opened on the cursor's line the completion has to close, as no line below begins with them.

    A bracket followed by text is closed on its own line; a bracket at the end of a line opens a block.
    """
    if not before.strip() or before.rstrip()[-1:] in OPENS:
        return 0
    rest, _, below = suffix.partition("\n")
    top = scanned.stack[-1].mark if scanned.stack else ""
    if rest.strip() or CLOSES.get(below.lstrip()[:1]) == top:
        return 0
    inner = 0
    for each in reversed(scanned.stack):
        if not each.is_bracket or each.line != scanned.line:
            break
        inner += 1
    return inner


def _lowest(suffix: str, stack: list[Open], language: Language) -> int:
    """The minimum depth of the stack anywhere in the text after the cursor."""
    scanner = Scanner(language, stack)
    lowest = len(stack)
    for character in suffix[:_SCANNED]:
        scanner.feed(character)
        lowest = min(lowest, len(scanner.stack))
    return lowest


def _text_closes(suffix: str, top: Open, language: Language) -> bool:
    """Whether the string or comment open at the cursor is closed after it."""
    if top.mark == language.comment:
        return False
    many = len(top.mark) == 3 or top.mark == language.long_comment[0]
    many = many or (top.mark in language.long_quotes and not language.triple)
    scanner = Scanner(language, [top])
    for character in suffix[:_SCANNED] if many else suffix.partition("\n")[0]:
        if scanner.feed(character) == "close" and not scanner.stack:
            return True
    return False
