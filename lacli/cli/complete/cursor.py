"""A place in a file as a user gives it, and where in the text that is. Pure but for asking whether a file exists."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from dataclasses import dataclass, replace

from lacli.cli.terminal.stdin import dash_for_stdin
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from lacli.shared.wording import counted


@dataclass(frozen=True, slots=True)
class CursorTarget:
    """A place in a file, as given."""

    path: str
    """- is stdin."""
    line: int | None = None
    """1-based; None is the last one."""
    column: int | None = None
    """1-based, in characters; None is the end of the line."""
    byte: int | None = None
    """Instead of both: bytes before the place."""
    marker: str = ""
    """Instead of all: a text that stands for the place, and is no part of the file."""


@dataclass(frozen=True, slots=True)
class InsertRange:
    """What a completion replaces in a file's text: nothing, or the marker."""

    start: int
    end: int

    def record(self, file: TextFile) -> dict[str, object]:
        """The same for programs: lines and columns from one, characters and bytes from zero."""
        return {
            "offset": self.start,
            "range": {"start": position(file, self.start), "end": position(file, self.end)},
            "bytes": [file.byte_at(self.start), file.byte_at(self.end)],
        }


def parse_target(text: str) -> CursorTarget:
    """FILE[:LINE[:COL]], read from the right; a file that is really called so wins."""
    if text == "-" or os.path.exists(text):
        return CursorTarget(dash_for_stdin(text))
    one = re.fullmatch(r"(.+):(\d+)", text, re.DOTALL)
    if one is None:
        return CursorTarget(text)
    two = re.fullmatch(r"(.+):(\d+)", one[1], re.DOTALL)
    if two is None or os.path.exists(one[1]):
        return CursorTarget(dash_for_stdin(one[1]), int(one[2]))
    return CursorTarget(dash_for_stdin(two[1]), int(two[2]), int(one[2]))


def with_place(target: CursorTarget, at: str | None, offset: int | None, marker: str | None) -> CursorTarget:
    """The target at the place that the options give it. Raises UsageError where two places are given."""
    given = [name for name, value in (("--at", at), ("--offset", offset), ("--marker", marker)) if value is not None]
    if not given:
        return target
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other", "give the place once")
    if target.line is not None:
        raise UsageError(f"{target.path} has a place of its own besides {given[0]}", "give the place once")
    if at is not None:
        found = re.fullmatch(r"(\d+)(?::(\d+))?", at)
        if found is None:
            raise UsageError(f"--at {at!r} is not a place", "give LINE or LINE:COL, both from 1")
        return replace(target, line=int(found[1]), column=int(found[2]) if found[2] else None)
    if marker is not None:
        if not marker:
            raise UsageError("--marker is empty", "give a text that stands in the file once")
        return replace(target, marker=marker)
    return replace(target, byte=offset)


def insert_range(file: TextFile, target: CursorTarget) -> InsertRange:
    """Where in the file's text the target is. Raises UsageError that names the file's length."""
    if target.marker:
        start = _marked(file, target.marker.replace("\r\n", "\n"))
        return InsertRange(start, start + len(target.marker.replace("\r\n", "\n")))
    at = _at_byte(file, target.byte) if target.byte is not None else _at_line(file, target)
    return InsertRange(at, at)


def position(file: TextFile, offset: int) -> dict[str, int]:
    """Line and column, both from one."""
    line = file.line_at(offset)
    return {"line": line + 1, "column": offset - file.starts[line] + 1}


def _marked(file: TextFile, marker: str) -> int:
    count = file.text.count(marker)
    if count != 1:
        found = f"has no {marker!r}" if not count else f"has {marker!r} {count} times"
        raise UsageError(f"{file.name} {found}", "the marker must stand in the file exactly once")
    return file.text.index(marker)


def _at_byte(file: TextFile, byte: int) -> int:
    size = len(file.data)
    if not 0 <= byte <= size:
        raise UsageError(
            f"{file.name} has {counted(size, 'byte', 'bytes')}, so there is no byte {byte}", f"give 0 to {size}"
        )
    if byte <= file.byte_starts[0]:
        return 0
    line = bisect_right(file.byte_starts, byte) - 1
    if line >= file.line_count:
        return len(file.text)
    inside = byte - file.byte_starts[line]
    low, high = 0, len(file.raw(line)) + bool(file.ends[line])
    while low < high:
        middle = (low + high) // 2
        if file.byte_at(file.starts[line] + middle) - file.byte_starts[line] < inside:
            low = middle + 1
        else:
            high = middle
    if file.byte_at(file.starts[line] + low) != byte:
        raise UsageError(f"byte {byte} of {file.name} is inside a character", "give where one begins")
    return file.starts[line] + low


def _at_line(file: TextFile, target: CursorTarget) -> int:
    """The character the cursor stands before."""
    if target.line is None:
        return len(file.text)
    length = f"{file.name} has {counted(file.line_count, 'line', 'lines')}"
    last = file.line_count + (not file.line_count or bool(file.ends[-1]))  # the place after the last one is legal
    if not 1 <= target.line <= last:
        raise UsageError(f"{length}, so there is no line {target.line}", f"give a line from 1 to {last}")
    start = file.starts[target.line - 1]
    width = len(file.raw(target.line - 1)) if target.line <= file.line_count else 0
    column = width + 1 if target.column is None else target.column
    if not 1 <= column <= width + 1:
        wide = counted(width, "character", "characters")
        raise UsageError(
            f"{length} and line {target.line} {wide}, so there is no column {column}",
            f"give a column from 1 to {width + 1}",
        )
    return start + column - 1
