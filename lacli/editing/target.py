"""What a user says is to be edited: a file, or lines or definitions of it. Asks only whether the file exists."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from lacli.editing.source import parts_of
from lacli.edits.find.parts import Part
from lacli.edits.write.textfile import TextFile

_RANGE = re.compile(r"(\d+)(?:(-)(\d*))?")
_NAME = re.compile(r"[^\s,:/\\]+(?:\.[^\s,:/\\]+)*")


@dataclass(frozen=True, slots=True)
class EditTarget:
    """A file and parts of it, as given."""

    path: str
    """- is stdin."""
    ranges: tuple[tuple[int, int | None], ...] = ()
    """First and last lines, from 1; None is the file's last line."""
    names: tuple[str, ...] = ()
    """Definitions, such as Class.method."""

    def parts(self, file: TextFile) -> tuple[Part, ...]:
        """The parts of this file. Raises UsageError for lines and names that it does not have."""
        ranges = [(first, file.line_count if last is None else last) for first, last in self.ranges]
        return parts_of(file, ranges, self.names)


def parse_target(text: str) -> EditTarget:
    """FILE, FILE:A, FILE:A-B, FILE:A-, several with commas, or FILE::NAME; a file that is really called so wins."""
    if os.path.lexists(text):
        return EditTarget(text)
    path, colons, names = text.rpartition("::")
    if colons and path and all(map(_NAME.fullmatch, names.split(","))):
        return EditTarget(path, (), tuple(names.split(",")))
    path, colon, ranges = text.rpartition(":")
    found = [_RANGE.fullmatch(each) for each in ranges.split(",")]
    if not colon or not path or not all(found):
        return EditTarget(text)
    return EditTarget(path, tuple(_range(each) for each in found if each is not None))


def _range(found: re.Match[str]) -> tuple[int, int | None]:
    first = int(found[1])
    return first, int(found[3]) if found[3] else None if found[2] else first
