"""Fenced blocks of Markdown, as CommonMark has them: what a reply holds besides prose. Pure text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lacli.text.lines import with_ends

_FENCE = re.compile(r"(`{3,})[ \t]*([^`]*)|(~{3,})[ \t]*(.*)", re.DOTALL)
_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)")
_TAB = 4
_CODE_INDENT = 4
"""From this many columns on a line is indented code, and no fence."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    language: str
    """The first word behind the opening fence."""
    text: str
    """What stands between the fences, without the indentation of the opening one, each line with its end."""
    closed: bool
    """Whether its closing fence was found."""
    start: int
    """Where the line of the opening fence begins."""
    end: int
    """Behind the line of the closing fence, its line end included."""
    fence: str = "```"
    """The opening fence."""
    info: str = ""
    """All that stands behind the opening fence."""


@dataclass(frozen=True, slots=True)
class Fence:
    """A line that opens a block, or closes one where nothing stands behind it."""

    marks: str
    info: str
    column: int
    """Where it stands; a line of the block loses at most so much indentation."""

    def closes(self, opening: Fence | Block) -> bool:
        """Whether it ends a block opened so."""
        marks = opening.marks if isinstance(opening, Fence) else opening.fence
        return not self.info and self.marks[0] == marks[0] and len(self.marks) >= len(marks)


def blocks(text: str) -> list[Block]:
    """The outermost blocks, in order. One without a closing fence goes to the end of its list item, or of the text."""
    found: list[Block] = []
    lines = _lines(text)
    containers: list[int] = []
    at = 0
    while at < len(lines):
        fence = _opening(lines[at][1], containers)
        if fence is None:
            at += 1
            continue
        inside = containers[-1] if containers else 0
        end, closed = _end(lines, at, fence, inside)
        start, stop = lines[at][0], lines[end][0] if end < len(lines) else len(text)
        body = "".join(without_indent(line, fence.column) for _, line in lines[at + 1 : end])
        if closed:
            stop = lines[end + 1][0] if end + 1 < len(lines) else len(text)
        found.append(Block(_first_word(fence.info), body, closed, start, stop, fence.marks, fence.info))
        at = end + closed
    return found


def first(text: str) -> Block | None:
    """The first block, if there is one."""
    return next(iter(blocks(text)), None)


def last(text: str) -> Block | None:
    """The last block, if there is one."""
    found = blocks(text)
    return found[-1] if found else None


def fence_of(line: str, inside: int = 0) -> Fence | None:
    """The fence that this line is, in a container whose content begins at column `inside`."""
    column, rest = _indent(line)
    if column - inside >= _CODE_INDENT:
        return None
    match = _FENCE.fullmatch(rest.rstrip("\r\n"))
    if match is None:
        return None
    return Fence(match[1] or match[3], (match[2] or match[4] or "").strip(), column)


def longer_than_any(text: str) -> str:
    """A fence of backticks that nothing in the text ends."""
    return "`" * max(3, *(len(run) + 1 for run in re.findall("`{3,}", text)), 0)


def _opening(line: str, containers: list[int]) -> Fence | None:
    """The fence on this line, behind list markers or not; `containers` becomes the lists it stands in."""
    column, rest = _indent(line)
    if not rest.strip():
        return None
    while containers and column < containers[-1]:
        containers.pop()
    for inside, content in _items(line, containers):
        fence = fence_of(content, inside)
        if fence is not None:
            return fence
    return None


def _items(line: str, containers: list[int]) -> Iterator[tuple[int, str]]:
    """The line, then what stands behind each of its list markers, with blanks where the marker was."""
    inside = containers[-1] if containers else 0
    yield inside, line
    while True:
        column, rest = _indent(line)
        marker = _ITEM.match(rest)
        if marker is None or column - inside >= _CODE_INDENT:
            return
        line = " " * (column + len(marker[0])) + rest[marker.end() :]
        behind, content = _indent(line)
        inside = column + len(marker[0]) + 1
        if content.strip() and behind - inside < _CODE_INDENT:
            inside = behind
        containers.append(inside)
        yield inside, line


def _end(lines: list[tuple[int, str]], opened: int, opening: Fence, inside: int) -> tuple[int, bool]:
    """The line that closes the block; without one the line it ends before.

    A closing fence counts although lines before it leave the list item, unless another block opens before: models write
    code in a list without indent.
    """
    left = 0
    for at in range(opened + 1, len(lines)):
        line = lines[at][1]
        fence = fence_of(line, inside)
        if fence is not None and fence.closes(opening):
            return at, True
        if not left and line.strip() and _indent(line)[0] < inside:
            left = at
        if left and _opening(line, []) is not None:  # so that many blocks left open are not each searched to the end
            break
    return left or len(lines), False


def _lines(text: str) -> list[tuple[int, str]]:
    """Each line with its end, and where it begins."""
    found, at = [], 0
    for line in with_ends(text):
        found.append((at, line))
        at += len(line)
    return found


def _indent(line: str) -> tuple[int, str]:
    """The columns a line is indented by, and the rest of it."""
    column = 0
    for index, letter in enumerate(line):
        if letter == " ":
            column += 1
        elif letter == "\t":
            column += _TAB - column % _TAB
        else:
            return column, line[index:]
    return column, ""


def without_indent(line: str, columns: int) -> str:
    """The line with at most so many columns of blanks less; a tab that goes beyond leaves blanks."""
    column = 0
    for index, letter in enumerate(line):
        if column >= columns or letter not in " \t":
            return " " * (column - columns) * (column > columns) + line[index:]
        column += 1 if letter == " " else _TAB - column % _TAB
    return ""


def _first_word(info: str) -> str:
    return info.split()[0] if info else ""
