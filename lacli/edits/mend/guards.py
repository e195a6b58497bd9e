"""Guards put before the loop that they stand in. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lacli.edits.checks import guards as check_guards
from lacli.edits.checks.scope import Scope
from lacli.edits.mend.mending import Mended


def before_loops(scope: Scope) -> Iterator[Mended]:
    """A guard at the beginning of its function, above the comments of the first statement."""
    for each in check_guards.late(scope):
        lines = scope.new.lines
        taken = lines[each.start : each.end]
        depth = len(taken[0]) - len(taken[0].lstrip())
        moved = [" " * each.indent + line[depth:] if line.strip() else line for line in taken]
        rest = [*lines[: each.start], *lines[each.end :]]
        first = next((one.start for one in scope.new.comments if one.alone and one.end == each.first), each.first)
        note = f"put `if {each.test}` before the loop"
        yield Mended("\n".join([*rest[:first], *moved, *rest[first:]]), note)
