"""Names that an edit forgot to rename, or declared so that the code cannot run. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lacli.edits.checks.names import assigned_consts
from lacli.edits.checks.occurrences import missed, replaced
from lacli.edits.checks.scope import Scope
from lacli.edits.mend.mending import Mended, with_lines


def renames(scope: Scope) -> Iterator[Mended]:
    """Every place of one name that still is the old one."""
    for (old, new), places in missed(scope).items():
        lines = replaced(scope.new.lines, places, old, new)
        count = f"{len(places)} more place{'s' * (len(places) > 1)}"
        yield Mended("\n".join(lines), f"renamed {old} to {new} in {count}")


def consts(scope: Scope) -> Iterator[Mended]:
    """A `const` of JavaScript that gets another value later, as `let`."""
    for name, _, row in assigned_consts(scope):
        line = re.sub(r"\bconst\b", "let", scope.new.lines[row], count=1)
        yield Mended(
            with_lines(scope.new.lines, row, row + 1, [line]), f"made `{name}` a let, as it gets another value"
        )
