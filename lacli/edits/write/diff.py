"""A unified diff of bytes that `patch -p0` and `git apply -p0` take. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TypeVar

from lacli.edits.tree.hunks import Hunk, hunks

CONTEXT = 3
"""So many equal lines are shown before and behind what differs."""
_NO_NEWLINE = b"\\ No newline at end of file\n"
_Line = TypeVar("_Line")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def unified(before: bytes, after: bytes, label: str) -> bytes:
    """What turns `before` into `after`, with `label` as both names; empty where they are equal."""
    if before == after:
        return b""
    old, new = _lines(before), _lines(after)
    name = quoted(label)
    parts = [b"--- ", name, b"\n+++ ", name, b"\n"]
    for group in grouped(hunks(old, new)):
        parts += _group(group, old, new)
    return b"".join(parts)


def label_of(path: str) -> str:
    """The name a diff gives a file: relative to the current folder where it is in there, with forward slashes."""
    try:
        near = os.path.relpath(path)
    except ValueError:  # another drive
        return path.replace(os.sep, "/")
    inside = near != os.pardir and not near.startswith(os.pardir + os.sep)
    return (near if inside else path).replace(os.sep, "/")


def target_of(path: str) -> str:
    """The same of the file itself where this is a link: `patch` and git refuse to change a file through one."""
    real = label_of(os.path.realpath(path))
    return label_of(path) if os.path.isabs(real) else real


def quoted(label: str) -> bytes:
    """A name as `patch` reads it: a tab ends one with blanks, one with control characters is quoted as C does."""
    if any(letter in _SHORT or letter < " " or letter == "\x7f" for letter in label):
        inner = "".join(_SHORT.get(each) or (f"\\{ord(each):03o}" if each < " " else each) for each in label)
        return b'"' + os.fsencode(inner) + b'"'
    return os.fsencode(label) + (b"\t" if " " in label else b"")


def _lines(data: bytes) -> list[bytes]:
    """Lines as `patch` counts them: ended by \\n alone."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def grouped(found: Sequence[Hunk]) -> Iterator[list[Hunk]]:
    """Differences so close that their context touches, together."""
    group: list[Hunk] = []
    for hunk in found:
        if group and hunk.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(hunk)
    if group:
        yield group


def place(start: int, end: int, new_start: int, new_end: int) -> str:
    """The line above a hunk that says where it is."""
    return f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@"


def signed(
    group: Sequence[Hunk], start: int, end: int, old: Sequence[_Line], new: Sequence[_Line]
) -> Iterator[tuple[str, _Line]]:
    """Lines `old[start:end]` and what these differences make of them, each with its sign: a blank, - or +."""
    at = start
    for hunk in group:
        yield from ((" ", line) for line in old[at : hunk.start])
        yield from (("-", line) for line in old[hunk.start : hunk.end])
        yield from (("+", line) for line in new[hunk.new_start : hunk.new_end])
        at = hunk.end
    yield from ((" ", line) for line in old[at:end])


def _group(group: list[Hunk], old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[bytes]:
    first, final = group[0], group[-1]
    lead = min(CONTEXT, first.start)
    trail = min(CONTEXT, len(old) - final.end)
    start, end = first.start - lead, final.end + trail
    yield place(start, end, first.new_start - lead, final.new_end + trail).encode() + b"\n"
    for sign, line in signed(group, start, end, old, new):
        yield sign.encode() + line + (b"" if line.endswith(b"\n") else b"\n" + _NO_NEWLINE)


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1}" if count == 1 else f"{start + (count > 0)},{count}"
