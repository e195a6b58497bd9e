"""What an edit lost without being asked to, put back where it is plain how. The one entry to all mending. Pure.

Each step offers texts that have one thing mended; one is taken only where fewer faults are left than before, so that
mending can never make a text worse. `checks` tells what remains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from lacli.edits.checks.checks import Fault, faults
from lacli.edits.checks.scope import Scope, scope_of
from lacli.edits.find.intent import Intent
from lacli.edits.mend import (
    guards,
    imports,
    items,
    layout,
    losses,
    members,
    names,
    strays,
    untouched,
)
from lacli.edits.mend.mending import Mended

_MOST = 40
"""So often one step may mend. A text that needs more is another text."""
_STEPS: tuple[Callable[[Scope], Iterator[Mended]], ...] = (
    layout.line_ends,
    layout.without_remarks,
    layout.without_notes,
    layout.without_entities,
    layout.plain_quotes,
    layout.indentation,
    members.with_receiver,
    losses.without_repeats,
    losses.placeholders,
    untouched.code,
    untouched.hinted,
    losses.siblings,
    losses.definitions,
    losses.decorators,
    losses.docstrings,
    losses.outside,
    items.lost,
    losses.statements,
    losses.order,
    imports.lost,
    losses.comments,
    losses.without_extras,
    strays.without,
    strays.imports,
    names.renames,
    names.consts,
    guards.before_loops,
    imports.standard,
    layout.gaps,
    layout.long_gaps,
    layout.without_trailing,
)


class _State(NamedTuple):
    text: str
    weight: int


def mended(
    before: str, after: str, language: str, intent: Intent, spans: Sequence[tuple[int, int]]
) -> tuple[str, tuple[str, ...]]:
    """`after` with what can be mended, and a line for the user on each thing that was.

    The arguments are those of `checks.faults`. What is mended already stays as it is.
    """

    found = _State(after, _weighed(before, after, language, intent, spans))
    notes: list[str] = []
    mending = True
    while mending:
        mending = False
        for step in _STEPS:
            for _ in range(_MOST):
                if not found.weight:
                    return found.text, tuple(notes)
                better = _better(step, found, before, language, intent, spans)
                if better is None:
                    break
                found, note = better
                mending = True
                if note not in notes:
                    notes.append(note)
    return found.text, tuple(notes)


def _better(
    step: Callable[[Scope], Iterator[Mended]],
    now: _State,
    before: str,
    language: str,
    intent: Intent,
    spans: Sequence[tuple[int, int]],
) -> tuple[_State, str] | None:
    """The first offer of a step that leaves fewer faults."""
    for text, note in step(scope_of(before, now.text, language, intent, spans)):
        weight = _weighed(before, text, language, intent, spans)
        if weight < now.weight:
            return _State(text, weight), note
    return None


def _weighed(before: str, text: str, language: str, intent: Intent, spans: Sequence[tuple[int, int]]) -> int:
    return sum(map(_weight, faults(before, text, language, intent, spans)))


def _weight(fault: Fault) -> int:
    """How bad a fault is. A text that does not parse hides its other faults; code put back leaves imports that nothing
    uses; a name not yet renamed is mended last."""
    return {"syntax": 1000, "code": 100, "rename": 1}.get(fault.kind, 10)
