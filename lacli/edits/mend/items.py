"""Items of lists put back. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lacli.edits.checks import items as check_items
from lacli.edits.checks.scope import Scope
from lacli.edits.mend.mending import Mended, undone


def lost(scope: Scope) -> Iterator[Mended]:
    """Those that another was meant for."""
    for row, item in check_items.lost_items(scope):
        texts = reversed(list(undone(scope, row, row + 1)))  # the line alone before all that went with it
        yield from (Mended(text, f"put back {item[:50]}") for text in texts)
