"""Code put back as it was where only documentation or type hints were asked for. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lacli.edits.checks.scope import Scope
from lacli.edits.checks.untouched import changed_code, prose_rows
from lacli.edits.mend.mending import Mended

_NOTE = "put the code back as it was"


def code(scope: Scope) -> Iterator[Mended]:
    """The code as it was, with the comments that came."""
    if "types" in scope.only:
        return
    lines = list(scope.new.lines)
    changed = changed_code(scope)
    prose = prose_rows(scope.new)
    for each in reversed(changed):
        rows = [row for row in range(each.new_start, each.new_end) if row in prose]
        if each.start == each.end:  # what came with its comments goes with them
            rows = [row for row in rows if not _leads_to_code(scope, row, each.new_end, prose)]
        kept = [scope.new.lines[row] for row in rows]
        had = {line.strip() for line in scope.old.lines[each.start : each.end]}
        kept = [line for line in kept if line.strip() not in had]
        lines[each.new_start : each.new_end] = [*kept, *scope.old.lines[each.start : each.end]]
    if changed:
        yield Mended("\n".join(lines), _NOTE)


def _leads_to_code(scope: Scope, row: int, end: int, prose: set[int]) -> bool:
    """Whether a line of prose stands above code before this end."""
    below = next((at for at in range(row, end) if at not in prose and scope.new.lines[at].strip()), None)
    return below is not None


def hinted(scope: Scope) -> Iterator[Mended]:
    """The code as it was, with the type hints that came on other lines."""
    if "types" not in scope.only:
        return
    old, lines = scope.old.lines, list(scope.new.lines)
    changed = changed_code(scope)
    for each in reversed(changed):
        start, end = each.new_start, each.new_end
        if start == end:  # below the comments and blank lines that it stood below
            gap = old[_gap_above(scope, each.start) : each.start]
            start = end = start + len(gap) if lines[start : start + len(gap)] == gap else start
        if each.start == each.end and "".join(old[each.start : each.start + 1]).strip():
            while end < len(lines) and not lines[end].strip():  # the blank lines that came with it
                end += 1
        lines[start:end] = old[each.start : each.end]
    if changed:
        yield Mended("\n".join(lines), _NOTE)


def _gap_above(scope: Scope, row: int) -> int:
    """The first of the lines without code right above a line of the old text."""
    while row and not scope.old.tokens(row - 1, row):
        row -= 1
    return row
