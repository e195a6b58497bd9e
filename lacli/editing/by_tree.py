"""Edits that have one right result, made by the syntax tree: no model is asked. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lacli.edits.direct.renaming import Renamed, is_purely_lexical, renamed
from lacli.edits.direct.surgery import deletable, derived, moved, removed, without
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
        gone = deletable(before, intent)
        made.text = with_deletions(made.text, before.language, gone)
        made.notes = (f"renamed in {counted(made.count, 'place', 'places')}", *made.notes, *notes_of(gone))
    elif made is not None:
        made.notes = ()
    return made


def with_deletions(text: str, language: str, labels: Sequence[str]) -> str:
    """The text without these definitions, which the instruction deletes besides what it asks of the model."""
    now = outline(text, language) if labels else None
    return text if now is None else without(text, now, labels)


def notes_of(labels: Sequence[str]) -> list[str]:
    """What is said of these deletions."""
    return [f"removed `{label}`" for label in labels]
