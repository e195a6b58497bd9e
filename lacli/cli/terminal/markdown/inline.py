"""Markdown within a line: emphasis, code, links, as pieces of text with their styles; and their wrapping at blanks.

Pure. Only what is surely meant as Markdown is taken for it: brackets and
backslashes of code that a model forgot to fence stay as they are, and so do marks that are never closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntFlag

from lacli.cli.terminal.tty import cells, column_after


class Style(IntFlag):
    """How a piece of text looks."""

    NONE = 0
    BOLD = 1
    ITALIC = 2
    STRIKE = 4
    LINK = 8
    DIM = 16
    CODE = 32


_SGR = {Style.BOLD: "1", Style.ITALIC: "3", Style.STRIKE: "9", Style.LINK: "4", Style.DIM: "2", Style.CODE: "36"}
_SGR_OF = [";".join(sgr for style, sgr in _SGR.items() if style & number) for number in range(64)]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of text in one style."""

    text: str
    sgr: str = ""
    """The parameters of the sequence that sets the style; empty for none."""
    start: int = field(default=-1, compare=False)
    """Where it begins in the line it was made of; -1 where it is not of it."""


@dataclass(slots=True)
class _DelimiterRun:
    """Text or a run of marks between the text."""

    text: str
    start: int
    style: Style = Style.NONE
    opens: bool = False
    closes: bool = False
    """A run of marks may open, or close; text neither."""


_MARK = re.compile(
    r"\\[\\`*_~#|<>]"
    r"|(?P<name>\b__\w+?__\b)"  # of Python, and not bold
    r"|`+"
    r"|\*+|_+|~~"
    r"|!?\[(?P<label>[^\[\]\n]*)\]\((?P<url>[^()\s<>]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)"
)
_TARGET = re.compile(r"[a-z][a-z0-9+.-]*:|[/#.]|[\w-]+(?:[./][\w-]+)+", re.IGNORECASE)
"""What a link leads to, if it is one: `[0](x)` is an index and a call."""


def parts_of(source: str, base: Style = Style.NONE, is_open: bool = False, offset: int = 0) -> list[Part]:
    """The text of a line without its marks. `is_open`: more may follow, so that an unfinished mark counts as one;
    `offset`: where `source` begins in the line."""
    runs = list(_runs(source, is_open))
    _pair(runs)
    if is_open:
        _close_open_ends(runs)
    return [Part(run.text, _SGR_OF[run.style | base], run.start + offset) for run in runs if run.text]


def _runs(source: str, is_open: bool) -> Iterator[_DelimiterRun]:
    """Text, code and links in their styles, and the runs of marks still to be paired."""
    position = 0
    while match := _MARK.search(source, position):
        found, start = match[0], match.start()
        if found[0] == "`":
            end = _end_of_code(source, match.end(), len(found))
            if end < 0 and not (is_open and match.end() < len(source)):
                yield _DelimiterRun(source[position : match.end()], position)
                position = match.end()
                continue
            inner = source[match.end() : end - len(found) if end >= 0 else len(source)]
            skipped = len(inner) > 2 and inner[0] == inner[-1] == " " and bool(inner.strip())
            yield _DelimiterRun(source[position:start], position)
            yield _DelimiterRun(inner[1:-1] if skipped else inner, match.end() + skipped, Style.CODE)
            position = end if end >= 0 else len(source)
            continue
        if match["url"] is not None and not _TARGET.match(match["url"]):
            yield _DelimiterRun(source[position : start + 1], position)
            position = start + 1
            continue
        yield _DelimiterRun(source[position:start], position)
        position = match.end()
        if match["name"]:
            yield _DelimiterRun(found, start)
        elif found[0] == "\\":
            yield _DelimiterRun(found[1], start)
        elif match["url"] is not None:
            if match["label"] and match["label"] != match["url"]:
                yield _DelimiterRun(match["label"], match.start("label"), Style.LINK)
                yield _DelimiterRun(f" ({match['url']})", match.end("label"), Style.DIM)
            else:
                yield _DelimiterRun(match["url"], match.start("url"), Style.LINK)
        else:
            yield _marks(source, start, found)
    yield _DelimiterRun(source[position:], position)


def _end_of_code(source: str, position: int, count: int) -> int:
    """Where the code that began before `position` ends, after its closing backticks; -1 if it does not."""
    for match in re.compile("`+").finditer(source, position):
        if len(match[0]) == count:
            return match.end()
    return -1


def _marks(source: str, start: int, found: str) -> _DelimiterRun:
    before = source[start - 1 : start] or " "
    after = source[start + len(found) : start + len(found) + 1] or " "
    opens = not after.isspace() and (after.isalnum() or before.isspace() or not before.isalnum())
    closes = not before.isspace() and (before.isalnum() or after.isspace() or not after.isalnum())
    if found[0] == "_":  # snake_case has none
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    return _DelimiterRun(found, start, Style.NONE, opens, closes)


def _pair(runs: list[_DelimiterRun]) -> None:
    """Give what stands between two fitting runs of marks its style, and take the marks away."""
    openers: list[int] = []
    for index, run in enumerate(runs):
        while run.closes and run.text:
            at = next((at for at in reversed(openers) if runs[at].text[:1] == run.text[0]), None)
            if at is None or not any(between.text for between in runs[at + 1 : index]):
                break
            both = min(len(runs[at].text), len(run.text))
            taken = 2 if both >= 2 else 1
            _set(runs[at + 1 : index], _style_of(run.text[0], taken))
            runs[at].text, run.text = runs[at].text[taken:], run.text[taken:]
            openers = [opener for opener in openers if opener < at or (opener == at and runs[at].text)]
        if run.opens and run.text:
            openers.append(index)


def _close_open_ends(runs: list[_DelimiterRun]) -> None:
    """Treat a double mark that is still open as if it were closed at the end."""
    for index, run in enumerate(runs):
        if run.opens and len(run.text) == 2 and any(later.text for later in runs[index + 1 :]):
            _set(runs[index + 1 :], _style_of(run.text[0], 2))
            run.text = ""


def _style_of(mark: str, count: int) -> Style:
    return Style.STRIKE if mark == "~" else Style.BOLD if count == 2 else Style.ITALIC


def _set(runs: Sequence[_DelimiterRun], style: Style) -> None:
    for run in runs:
        run.style |= style


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the screen, or of several where a word is wider than it."""

    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its text without styles."""
        return "".join(part.text for part in self.parts)

    @property
    def start(self) -> int:
        """Where it begins in the line it was made of."""
        return next((part.start for part in self.parts if part.start >= 0), 0)

    def since(self, skipped: int = 0) -> str:
        """It as written to a terminal, without its first characters."""
        written = []
        for part in self.parts:
            text = part.text[skipped:]
            skipped = max(0, skipped - len(part.text))
            if text:
                written.append(f"\x1b[{part.sgr}m{text}\x1b[0m" if part.sgr else text)
        return "".join(written)


def row_of(parts: Iterable[Part]) -> Row:
    """A row of these parts, neighbours of one style joined."""
    joined: list[Part] = []
    for part in parts:
        if joined and joined[-1].sgr == part.sgr:
            before = joined[-1]
            joined[-1] = Part(before.text + part.text, part.sgr, before.start if before.start >= 0 else part.start)
        elif part.text:
            joined.append(part)
    return Row(tuple(joined))


_GLUED = "，。、；：？！）」』】》〉…\ufe0f"
"""Stay with the character before them."""


def wrapped(parts: Sequence[Part], width: int, first: Sequence[Part] = (), hanging: Sequence[Part] = ()) -> list[Row]:
    """The parts in rows of at most `width` columns, `first` before the first and `hanging` before the others. A word is
    cut by the terminal only where it is wider than a row; blanks at the end of a row go."""
    rows: list[list[Part]] = [list(first)]
    column = column_after(0, "".join(part.text for part in first))
    indent = column_after(0, "".join(part.text for part in hanging))
    blank: list[Part] = []
    fresh = True
    for word in _words(parts):
        if word[0].text.isspace():
            blank = word
            continue
        space = sum(len(part.text) for part in blank)
        wide = sum(column_after(0, part.text) for part in word)
        if not fresh and column + space + wide > width:
            rows.append(list(hanging))
            column, space, blank = indent, 0, []
        rows[-1] += [*blank, *word]
        column, blank, fresh = column + space + wide, [], False
    return [row_of(row) for row in rows]


def _words(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Words and the blanks between them, in turn; a wide character is a word where it may stand at a row's begin."""
    word: list[Part] = []
    for part in parts:
        for match in re.finditer(r"\s+|[^\s\u1100-\U0010ffff]+|[^\s]", part.text):
            start = part.start + match.start() if part.start >= 0 else -1
            piece = Part(match[0].replace("\t", "    "), part.sgr, start)
            if word and _may_break(word[-1].text[-1], piece.text[0]):
                yield word
                word = []
            word.append(piece)
    if word:
        yield word


def _may_break(before: str, after: str) -> bool:
    if before.isspace() or after.isspace():
        return before.isspace() != after.isspace()
    return (
        after not in _GLUED
        and 2 in (cells(before), cells(after))
        and "\u200d" not in (before, after)
        and cells(after) > 0
    )
