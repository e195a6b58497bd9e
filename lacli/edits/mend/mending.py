"""How a step of mending offers a text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lacli.edits.checks.scope import Scope
from lacli.edits.tree.hunks import hunks


class Mended(NamedTuple):
    """The whole text with one thing mended, and what is said of it."""

    text: str
    note: str


def with_lines(lines: Sequence[str], start: int, end: int, new: Sequence[str]) -> str:
    """The text with other lines in the place of these."""
    return "\n".join([*lines[:start], *new, *lines[end:]])


def fresh_rows(scope: Scope) -> list[int]:
    """The lines of the new text that the old one has not."""
    return [
        row for change in hunks(scope.old.lines, scope.new.lines) for row in range(change.new_start, change.new_end)
    ]


def undone(scope: Scope, start: int, end: int) -> Iterator[str]:
    """Texts in which these lines of the old one, with the blank lines around them, are as they were.

    First whole deletions that reach into them are taken back, then only what concerns the lines themselves. What was
    changed beside them stays.
    """
    old, new = scope.old.lines, scope.new.lines
    while start > 0 and not old[start - 1].strip():
        start -= 1
    while end < len(old) - 1 and not old[end].strip():
        end += 1
    touching = [each for each in hunks(old, new) if each.start < end and start < each.end]
    wanted = {each.start for each in scope.new.definitions if each.name in scope.intent.adds}
    for whole in (True, False):
        lines = list(new)
        for each in reversed(touching):
            first, last = each.start, each.end
            if each.new_start == each.new_end:
                if not whole:
                    first, last = max(start, first), min(end, last)
            elif not (start <= first and last <= end) or wanted & set(range(each.new_start, each.new_end)):
                continue
            lines[each.new_start : each.new_end] = old[first:last]
        yield "\n".join(lines)
