"""What surrounds the place of a completion, as stop rules and prompts ask for it. Pure: a `Place` in, facts out."""

from __future__ import annotations

from dataclasses import dataclass

from lacli.completion.scanner import CLOSES, OPENS, Open, Scanner, in_text, scan
from lacli.events import Place
from lacli.text.languages import Language, language_of

_SCANNED = 1 << 15
"""Characters on either side in which open brackets are counted."""
_LINES_ABOVE = 16
_GOES_ON = "([{,:=+-*/%<>|&.!?~^@\\ \t"
"""Behind these a line of code goes on, or opens a block, and who types a blank means to."""
_TEXT_GOES_ON = "([{,:=- \t"
"""The same of a line of text, which a tag or a sentence may end."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a file, looked at."""

    language: Language
    before: str
    """What stands before the cursor on its line."""
    rest: str
    """What stands behind it on its line."""
    above: tuple[str, ...]
    """The lines above, the nearest last."""
    below: str
    """The next line under the cursor's that is not blank."""
    second: str
    """The one under that which is not blank."""
    breaks: int
    """Line ends from the cursor to `below`; 0 where there is no such line."""
    at_end: bool
    """Whether nothing but blanks follows in the whole file."""
    ends_line: bool
    """At the end of a file: whether its last line had an end, so that a new one gets one, too."""
    stack: tuple[Open, ...]
    """What stands open before the cursor, outermost first."""
    kept: int
    """How many of these, counted from outside, are closed behind the cursor and so not by a completion."""
    lacking: int
    """How many more are closed there than were opened: the completion has to open, and to leave open, so many."""
    meaning: str
    """The last character of code before the cursor, as in `Scanner`."""
    line: int
    """The number of the cursor's line, as in `Open.line`."""

    @property
    def in_indent(self) -> bool:
        """Whether only blanks stand before the cursor on its line."""
        return not self.before.strip()

    @property
    def is_complete(self) -> bool:
        """Whether nothing need stand here: text is right before the cursor, and what its line begins is brought to its
        end.

        Roughly, as brackets and the last character tell: good enough to take a model's word that nothing belongs here.
        """
        if self.in_indent:
            return bool(self.rest.strip())
        begun = len(self.stack) > self.kept or self.lacking > 0
        return not begun and self.before[-1] not in (_GOES_ON if self.language.is_code else _TEXT_GOES_ON)

    @property
    def head(self) -> str:
        """What follows on the cursor's line and belongs to what the cursor is in; empty where it is a line below."""
        return "" if self.in_indent else self.rest.strip()

    @property
    def next_line(self) -> str:
        """The line, indentation included, that the file goes on with."""
        return self.before + self.rest if self.in_indent and self.rest.strip() else self.below

    @property
    def next_breaks(self) -> int:
        """Line ends from the cursor to `next_line`."""
        return 0 if self.in_indent and self.rest.strip() else self.breaks


def cursor_of(place: Place) -> Cursor:
    """Look at a place."""
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
    """How much of what stands open before the cursor is closed behind it; more than there is where it lacks some."""
    stack = scanned.stack
    top = stack[-1] if in_text(stack) else None
    most = len(stack)
    if top is not None and not _text_closes(suffix, top, language):
        most -= 1  # a string without its end: the completion's to write; a comment ends with the line
        if top.mark == language.comment:
            suffix = suffix.partition("\n")[2]
        top = None
    if any(not each.is_bracket for each in stack[:-1]):  # code inside a string, which goes on behind the brackets
        closed = most - _lowest(suffix, stack[:most], language)
    else:
        closed = scan(suffix[:_SCANNED], language, [] if top is None else [top]).missing + (top is not None)
    if len(suffix) > _SCANNED:  # what closes the others may stand further down
        closed = max(closed, sum(each.line < scanned.line for each in stack))
    return closed if most == len(stack) else min(closed, most)


def _own(before: str, scanned: Scanner, suffix: str) -> int:
    """How many brackets within the cursor's line the completion has to close, as no line below begins by closing them.

    What closes a bracket that has text behind it stands on its line; a bracket at the end of a line opens a block.
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
    """The least that stands open anywhere in the text behind the cursor."""
    scanner = Scanner(language, stack)
    lowest = len(stack)
    for character in suffix[:_SCANNED]:
        scanner.feed(character)
        lowest = min(lowest, len(scanner.stack))
    return lowest


def _text_closes(suffix: str, top: Open, language: Language) -> bool:
    """Whether the string or comment that stands open at the cursor is closed behind it."""
    if top.mark == language.comment:
        return False
    many = len(top.mark) == 3 or top.mark == language.long_comment[0]
    many = many or (top.mark in language.long_quotes and not language.triple)
    scanner = Scanner(language, [top])
    for character in suffix[:_SCANNED] if many else suffix.partition("\n")[0]:
        if scanner.feed(character) == "close" and not scanner.stack:
            return True
    return False
