"""The prompt of a completion within a prefill budget, and prompts worth prefilling for the next one near by. Pure.

`layout` chooses among prompts; this is common to both kinds of prompts, with fill-in-the-middle and without.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lacli.completion.layout import Budget, Encode, Form, Later, Made, Shown, Start, choose, starts


def within(form: Form, before: str, begins_file: bool, encode: Encode, budget: Budget, room: int | None) -> Made | None:
    """The prompt that shows most within the budget, without notes; None if not even the smallest fits into `room`.

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
    """See `Later.ahead`: the whole text before the cursor after the fewest pieces of other files, then after all.

    The first takes less time to prefill and is useful at once. It is left out once more of the second is cached.
    """
    found = [
        _longest(form, pieces, begins, budget, room) for pieces in dict.fromkeys((form.pieces[0], form.pieces[-1]))
    ]
    if len(found) > 1 and budget.free(found[1]) > budget.free(found[0]):
        del found[0]
    return tuple(ids for ids in found if ids)


def _longest(form: Form, pieces: int, begins: Sequence[Start], budget: Budget, room: int | None) -> tuple[int, ...]:
    """The reusable prefix of a prompt with the whole text and this many pieces; the one with fewest tokens uncached."""
    layouts = (form.layout(pieces, start, form.after) for start in begins if start.is_whole)
    fitting = (each.token_ids[: each.shared] for each in layouts if room is None or len(each.token_ids) <= room)
    return min(fitting, key=lambda ids: len(ids) - budget.free(ids), default=())
