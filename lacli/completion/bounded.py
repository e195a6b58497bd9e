"""The prompt of a completion where reading has a price, and what could be read ahead for the next one near by. Pure.

`layout` chooses the prompt; both kinds of prompts, with fill-in-the-middle and without, are made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lacli.completion.layout import Budget, Encode, Form, Later, Made, Shown, Start, choose, starts


def within(form: Form, before: str, begins_file: bool, encode: Encode, budget: Budget, room: int | None) -> Made | None:
    """The prompt that shows most within the budget, without notes; None where not even the least has room.

    before, begins_file, encode: as for `layout.starts`.
    """
    begins = starts(before, form.whole_before, begins_file, encode, budget.tokens)
    chosen = choose(form, begins, budget, room)
    if chosen is None:
        return None
    made, free = chosen
    whole = max(made.before, len(form.whole_before)) + form.after
    later = Later(made.shared, partial(ahead, form, begins, budget, room))
    return Made(made.token_ids, (), Shown(made.before + made.after, whole, free), later)


def ahead(form: Form, begins: Sequence[Start], budget: Budget, room: int | None) -> tuple[tuple[int, ...], ...]:
    """See `Later.ahead`: the whole text before the cursor behind the fewest pieces of other files, then behind all.

    The first is soon read and of use at once. It is left out once more of the second has been read.
    """
    found = [
        _longest(form, pieces, begins, budget, room) for pieces in dict.fromkeys((form.pieces[0], form.pieces[-1]))
    ]
    if len(found) > 1 and budget.free(found[1]) > budget.free(found[0]):
        del found[0]
    return tuple(ids for ids in found if ids)


def _longest(form: Form, pieces: int, begins: Sequence[Start], budget: Budget, room: int | None) -> tuple[int, ...]:
    """The beginning of the longest prompt with so many pieces, of several the one of which most has been read."""
    layouts = (form.layout(pieces, start, form.after) for start in begins if start.is_whole)
    fitting = (each.token_ids[: each.shared] for each in layouts if room is None or len(each.token_ids) <= room)
    return min(fitting, key=lambda ids: len(ids) - budget.free(ids), default=())
