"""Code put back as it was where only documentation was asked for. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lacli.edits.checks import documented as check_documented
from lacli.edits.checks.scope import Scope
from lacli.edits.mend.mending import Mended


def code(scope: Scope) -> Iterator[Mended]:
    """The code as it was, with the comments that came."""
    lines = list(scope.new.lines)
    changed = check_documented.changed_code(scope)
    prose = check_documented.prose_rows(scope.new)
    for each in reversed(changed):
        rows = [row for row in range(each.new_start, each.new_end) if row in prose]
        if each.start == each.end:  # what came with its comments goes with them
            rows = [row for row in rows if not _leads_to_code(scope, row, each.new_end, prose)]
        kept = [scope.new.lines[row] for row in rows]
        had = {line.strip() for line in scope.old.lines[each.start : each.end]}
        kept = [line for line in kept if line.strip() not in had]
        lines[each.new_start : each.new_end] = [*kept, *scope.old.lines[each.start : each.end]]
    if changed:
        yield Mended("\n".join(lines), "put the code back as it was")


def _leads_to_code(scope: Scope, row: int, end: int, prose: set[int]) -> bool:
    """Whether a line of prose stands above code before this end."""
    below = next((at for at in range(row, end) if at not in prose and scope.new.lines[at].strip()), None)
    return below is not None
