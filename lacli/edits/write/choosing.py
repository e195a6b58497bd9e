"""Some of the changes between two versions of a file: hunks to choose from, and the bytes that the chosen ones make.

Every byte outside of what is chosen is the old one, whatever the file's encoding and line ends are. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from lacli.edits.tree.hunks import Hunk, hunks
from lacli.edits.write.diff import CONTEXT, grouped, place, signed
from lacli.edits.write.textfile import TextFile, lines_of, shown
from lacli.errors import UsageError

_SECTION = re.compile(r"[A-Za-z_$]|\s+(?:async def|def|class|fn|func|function)\s")
"""What a part of a file begins with: as git takes it, and definitions within others."""
_LONGEST_SECTION = 60
_NO_END = "\\ No newline at end of file"
_HOW = """\
# Lines that begin with + are put in, lines that begin with - are taken out.
# To keep a line that goes, make its - a blank. To leave out a new one, delete it.
# Lines that begin with # are left out. Without any other line the hunk stays as it was.
"""
_AGAIN = "edit it again"
_Line = tuple[str, str]
"""A line as it is decoded, and its end."""


@dataclass(frozen=True, slots=True)
class Group:
    """Differences that are chosen together, with the equal lines around that are shown: no line is in two of them."""

    differences: tuple[Hunk, ...]
    start: int
    end: int
    """Old lines `start` to `end`, counted from 0, the last one exclusive."""
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class Edited:
    """What the user made of a group in an editor, in the place of its lines."""

    text: str
    """Decoded, with the line ends it will have."""


Decision = bool | Edited
"""Whether a group's change is made, or what else is put there."""


class Choosing:
    """The old file, and what its bytes may become."""

    def __init__(self, file: TextFile, new: bytes) -> None:
        mark = file.data[: file.byte_starts[0]]
        self._mark = mark if new.startswith(mark) else b""
        self._file = file
        self._old = list(lines_of(file.decoded(file.data[len(self._mark) :])))
        self._new = list(lines_of(file.decoded(new[len(self._mark) :])))

    def groups(self) -> list[Group]:
        """All there is to choose from, in order; empty where the two are equal."""
        return [
            self._group(group, max(0, group[0].start - CONTEXT), min(group[-1].end + CONTEXT, len(self._old)))
            for group in grouped(hunks(self._old, self._new))
        ]

    def split(self, group: Group) -> list[Group]:
        """The same in the smallest groups; itself alone where it is one of them."""
        found = []
        start = group.start
        for difference, following in zip(group.differences, [*group.differences[1:], None], strict=True):
            end = group.end
            if following is not None:  # each shows its half of the lines between
                end = difference.end + (following.start - difference.end + 1) // 2
            found.append(self._group([difference], start, end))
            start = end
        return found

    def _group(self, differences: list[Hunk], start: int, end: int) -> Group:
        first, final = differences[0], differences[-1]
        new_start = first.new_start - (first.start - start)
        return Group(tuple(differences), start, end, new_start, final.new_end + end - final.end)

    def header(self, group: Group, decision: Decision = True) -> str:
        """Where it is, as in a unified diff, with the line that begins the part of the file it is in."""
        new_end = group.new_end
        if isinstance(decision, Edited):
            new_end = group.new_start + len(list(lines_of(decision.text)))
        where = place(group.start, group.end, group.new_start, new_end)
        above = (content for content, _ in reversed(self._old[: group.start]) if _SECTION.match(content))
        section = shown(next(above, "")).strip()[:_LONGEST_SECTION]
        return f"{where} {section}" if section else where

    def body(self, group: Group, decision: Decision = True) -> list[str]:
        """Its lines, each with a blank, - or + before it."""
        differences, new = group.differences, self._new
        if isinstance(decision, Edited):
            new = [*self._new[: group.new_start], *lines_of(decision.text)]
            differences = tuple(
                Hunk(start + group.start, end + group.start, new_start + group.new_start, new_end + group.new_start)
                for start, end, new_start, new_end in hunks(self._old[group.start : group.end], new[group.new_start :])
            )
        lines = []
        for sign, (content, end) in signed(differences, group.start, group.end, self._old, new):
            lines += [sign + shown(content), *([] if end else [_NO_END])]
        return lines

    def to_edit(self, group: Group, decision: Decision = True) -> str:
        """The group as it is put before the user in an editor."""
        return "\n".join([self.header(group, decision), *self.body(group, decision), _HOW])

    def edited(self, group: Group, text: str) -> Edited | None:
        """What the user made of `to_edit`; None where nothing is left of it, which means to leave the group as it is.

        Lines that were not typed keep their bytes, others end as their neighbours do. Raises UsageError where it no
        longer fits the file or has characters that the file's encoding lacks.
        """
        lines = [line for line in text.split("\n") if not line.startswith(("#", "@@", "\\"))]
        if not any(lines):
            return None
        known: dict[str, list[_Line]] = defaultdict(list)
        for difference in reversed(group.differences):
            for added in reversed(self._new[difference.new_start : difference.new_end]):
                known[shown(added[0])].append(added)
        made: list[tuple[str, str | None]] = []
        at = group.start
        for line in lines:
            sign, content = line[:1] or " ", line[1:]
            if sign not in " +-":
                raise UsageError(f"the line {line[:40]!r} begins with no blank, + or -", _AGAIN)
            if sign == "+":
                made.append(known[content].pop() if known[content] else (content, None))
                continue
            if at == group.end and not line:
                continue
            # editors take blanks away at the end of lines
            if at == group.end or shown(self._old[at][0]).rstrip() != content.rstrip():
                raise UsageError(f"the edited hunk does not fit the file: {content[:40]!r} is not there", _AGAIN)
            if sign == " ":
                made.append(self._old[at])
            at += 1
        if at < group.end:
            lacking = shown(self._old[at][0])[:40]
            raise UsageError(f"the edited hunk does not fit the file: {lacking!r} is missing", _AGAIN)
        return self._made(group, made)

    def _made(self, group: Group, lines: list[tuple[str, str | None]]) -> Edited:
        """These lines; what was typed ends as its neighbours do, or not at all where the new file ends so."""
        usual = self._file.end_near(max(0, min(group.start, self._file.line_count - 1)))
        ends = [end or usual for _, end in lines]
        if lines and group.end == len(self._old):  # nothing follows in the file
            own = lines[-1][1]
            ends[-1] = own if own is not None else "" if self._new and not self._new[-1][1] else usual
        text = "".join(content + end for (content, _), end in zip(lines, ends, strict=True))
        self._file.encode(text)
        if len(list(lines_of(text))) != len(lines):
            raise UsageError("the edited hunk mixes kinds of line ends that would become one", _AGAIN)
        return Edited(text)

    def result(self, decided: Iterable[tuple[Group, Decision]]) -> bytes:
        """The file with what was decided of these groups; every other line is the old one."""
        parts: list[str] = []
        at = 0
        for group, decision in sorted(decided, key=lambda pair: pair[0].start):
            parts += _joined(self._old[at : group.start])
            if isinstance(decision, Edited):
                parts.append(decision.text)
            elif decision:
                parts += _joined(self._new[group.new_start : group.new_end])
            else:
                parts += _joined(self._old[group.start : group.end])
            at = group.end
        parts += _joined(self._old[at:])
        return self._mark + self._file.encode("".join(parts))


def _joined(lines: Iterable[_Line]) -> list[str]:
    return [content + end for content, end in lines]
