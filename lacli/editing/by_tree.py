"""Edits that have one right result, made by the syntax tree: no model is asked. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lacli.edits.direct.renaming import Renamed, is_purely_lexical, renamed
from lacli.edits.direct.surgery import derived, moved, removed, without_deleted
from lacli.edits.find.intent import Intent
from lacli.edits.tree.outline import Outline, outline
from lacli.shared.wording import counted


def by_its_tree(text: str, before: Outline, intent: Intent, spans: Sequence[tuple[int, int]]) -> Renamed | None:
    """The text after a removal, a move, a rename or a derived trait; None where anything else is wanted, or more."""
    taken = removed(text, before, intent) or moved(text, before, intent) or derived(text, before, intent)
    if taken is not None:
        return Renamed(taken, 0)
    made = renamed(text, before, intent, spans) if is_purely_lexical(intent) else None
    if made is not None and made.count:
        made.text, notes = with_deletions(made.text, before.language, intent)
        made.notes = (f"renamed in {counted(made.count, 'place', 'places')}", *made.notes, *notes)
    elif made is not None:
        made.notes = ()
    return made


def with_deletions(text: str, language: str, intent: Intent) -> tuple[str, list[str]]:
    """The text without what the instruction deletes besides what it asks of the model, and a note of each."""
    now = outline(text, language) if intent.deletes else None
    if now is None:
        return text, []
    text, gone = without_deleted(text, now, intent)
    return text, [f"removed `{label}`" for label in gone]
