"""Names that an edit forgot to rename. Pure; called by `mend`."""

from __future__ import annotations

from collections.abc import Iterator

from lacli.edits.mending import Mended
from lacli.edits.occurrences import missed
from lacli.edits.scope import Scope


def renames(scope: Scope) -> Iterator[Mended]:
    """Every place of one name that still is the old one."""
    for (old, new), places in missed(scope).items():
        lines = list(scope.new.lines)
        for place in sorted(places, key=lambda each: (each.row, -each.column)):
            line = lines[place.row]
            if line[place.column : place.column + len(old)] == old:
                lines[place.row] = line[: place.column] + new + line[place.column + len(old) :]
        count = f"{len(places)} more place{'s' * (len(places) > 1)}"
        yield Mended("\n".join(lines), f"renamed {old} to {new} in {count}")
