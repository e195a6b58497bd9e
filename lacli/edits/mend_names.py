"""Names that an edit forgot to rename. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lacli.edits.mending import Mended
from lacli.edits.occurrences import missed, replaced
from lacli.edits.scope import Scope


def renames(scope: Scope) -> Iterator[Mended]:
    """Every place of one name that still is the old one."""
    for (old, new), places in missed(scope).items():
        lines = replaced(scope.new.lines, places, old, new)
        count = f"{len(places)} more place{'s' * (len(places) > 1)}"
        yield Mended("\n".join(lines), f"renamed {old} to {new} in {count}")
