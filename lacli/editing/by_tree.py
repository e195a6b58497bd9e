"""Edits that have one right result, made by the syntax tree: no model is asked. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lacli.edits.direct.renaming import Renamed, is_purely_lexical, renamed
from lacli.edits.direct.surgery import derived, moved, removed
from lacli.edits.find.intent import Intent
from lacli.edits.tree.outline import Outline
from lacli.shared.wording import counted


def by_its_tree(text: str, outline: Outline, intent: Intent, spans: Sequence[tuple[int, int]]) -> Renamed | None:
    """The text after a removal, a move, a rename or a derived trait; None where anything else is wanted, or more."""
    taken = removed(text, outline, intent) or moved(text, outline, intent) or derived(text, outline, intent)
    if taken is not None:
        return Renamed(taken, 0)
    made = renamed(text, outline, intent, spans) if is_purely_lexical(intent) else None
    if made is not None and made.count:
        made.notes = (f"renamed in {counted(made.count, 'place', 'places')}", *made.notes)
    elif made is not None:
        made.notes = ()
    return made
