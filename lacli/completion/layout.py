"""How much a completion shows where reading has a price: the choice among the forms that its prompt could have. Pure.

What was read before costs nothing. What was not has to fit into a budget of tokens: the text nearest to the cursor
first, a share of it behind the cursor, other files last. What fits as a whole is shown as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from lacli.completion import window
from lacli.completion.anchors import anchors

LEAST_BEFORE, LEAST_AFTER = 64, 32
"""Tokens around the cursor that are shown whatever they cost."""
_LEAST_AT_ANCHOR, _MOST_AT_ANCHOR = 128, 192
"""As many before it, rather, where a window may begin that far away: two whole blocks that the KV store can keep. A
shorter window would be read anew with every line, and never grow on a slow machine."""
REACH_BEFORE = 2 * window.MOST_BEFORE
"""Tokens before the cursor up to which a beginning that was read before is kept: a window whose beginning is given up
has to be read anew as a whole."""
_GOES_ON = 136
"""Tokens that a beginning which was read before may cost whatever the budget: what one line further takes where only
whole blocks are kept. A smaller budget would begin anew each time, and show less for as much."""
AGAIN_SHARE = 2
"""One token of the budget in so many is spent on the text behind the cursor where all before it was read already and
that text is all there is to compute, with every line anew.

Less would be quicker still and worse: at 14 places (Qwen2.5-Coder 1.5B, all before the cursor shown) what stood there
surprised the model by 0.79 nats a token with 512 tokens behind the cursor, 1.07 with 96 and 1.12 with 32.
"""
_FURTHER_BEHIND, _OTHERS = 0.35, 0.3
"""What a token counts as that stands behind the cursor beyond its share, and one of another file."""
_PRICE = 0.25
"""What a token that has to be read counts against it: what was read before is not given up for a little more."""
_MARKS = 8
"""Tokens of a prompt that show nothing, about."""
_ENOUGH = 0.75
"""A window that shows so much of the longest one is not left for one that begins at no anchor."""
Encode = Callable[[str], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be read for a completion."""

    tokens: int
    """So many that were not read before."""
    free: Callable[[Sequence[int]], int]
    """How many of these ids, from the first on, were read before and cost nothing."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of the text around the cursor, in tokens."""

    tokens: int
    whole: int
    """What would be shown if reading cost nothing."""
    free: int
    """Tokens of the prompt that were read before."""


@dataclass(frozen=True, slots=True)
class Later:
    """What later completions near this place can reuse from the KV cache."""

    shared: int | None = None
    """Length of the prefix of this prompt that they can reuse; what follows is computed again for every line. None: all
    of the prompt and the reply may be reused."""
    ahead: Callable[[], Sequence[tuple[int, ...]]] = tuple
    """Builds prefixes of longer prompts for this place that are worth prefilling while idle, in that order."""


@dataclass(frozen=True, slots=True)
class Made:
    """A prompt."""

    token_ids: tuple[int, ...]
    notes: tuple[str, ...] = ()
    """Lines the user should see."""
    shown: Shown | None = None
    """How much of the text around the cursor is shown; None without a prefill budget."""
    later: Later = Later()


@dataclass(frozen=True, slots=True)
class Start:
    """The text before the cursor from some line on."""

    ids: tuple[int, ...]
    is_whole: bool = False
    """Whether it is as much as is shown where reading costs nothing."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A prompt as it could be, with the tokens of its parts."""

    token_ids: tuple[int, ...]
    before: int
    after: int
    others: int
    """Of other files."""
    before_at: int
    """Where the text before the cursor begins in it."""
    after_at: int
    """Where that behind it does."""
    is_whole: bool = False
    """Whether it shows all there is to show."""

    @property
    def shared(self) -> int | None:
        """See `Later.shared`."""
        return self.before_at + self.before if self.after_at > self.before_at else None


class Form(Protocol):
    """The prompts that a place could have."""

    @property
    def pieces(self) -> Sequence[int]:
        """How many pieces of other files may be shown, in rising order; the least number always is."""
        ...

    @property
    def whole_before(self) -> Sequence[int]:
        """Ids of the text before the cursor that is shown without a budget."""
        ...

    @property
    def after(self) -> int:
        """Tokens behind the cursor that may be shown."""
        ...

    def layout(self, pieces: int, start: Start, after: int) -> Layout:
        """The prompt with so many pieces, this text before the cursor, and about so many tokens behind it, not more."""
        ...


def starts(before: str, whole: Sequence[int], begins_file: bool, encode: Encode, budget: int) -> list[Start]:
    """The beginnings that a window may have, first the least that is shown.

    before: the text that may be shown, for as far as a beginning is kept; whole: ids of what is shown where reading
    costs nothing.
    """
    found: list[Start] = []
    for offset in reversed(anchors(before, begins_file)):
        ids = tuple(encode(before[offset:]))
        if len(ids) > REACH_BEFORE:
            break
        found.append(Start(ids, len(ids) >= len(whole)))
    near = [each for each in found if LEAST_BEFORE <= len(each.ids) <= _MOST_AT_ANCHOR]
    if not found or not found[-1].is_whole:
        covers = bool(found) and len(found[-1].ids) >= _ENOUGH * len(whole)
        found[-1 if covers else len(found) :] = [Start(found[-1].ids if covers else tuple(whole), True)]
    most = max(LEAST_BEFORE, budget - budget // window.SUFFIX_SHARE - _MARKS)
    longest = max(most, budget - LEAST_AFTER - _MARKS)
    if most < len(whole) and not any(most // 2 <= len(start.ids) <= longest for start in found):
        found.append(Start(_nearest(before, most, encode)))  # which lasts for this line only
    least = next((each for each in near if len(each.ids) >= _LEAST_AT_ANCHOR), near[-1] if near else None)
    return [least or Start(tuple(whole[-LEAST_BEFORE:]), len(whole) <= LEAST_BEFORE), *found]


def _nearest(before: str, most: int, encode: Encode) -> tuple[int, ...]:
    """The ids of the end of a text, at most so many, from the beginning of a line on where it has lines."""
    return tuple(encode(window.last_part(before, most, encode))[-most:])


def choose(form: Form, begins: Sequence[Start], budget: Budget, room: int | None) -> tuple[Layout, int] | None:
    """The prompt that shows most for what it costs, within the budget and `room` tokens, and how many are free.

    Whatever the budget, the least there is to show is, and files that were asked for are paid on top of it. None where
    even that has no room.
    """
    least = form.layout(form.pieces[0], begins[0], min(form.after, LEAST_AFTER))
    free = budget.free(least.token_ids)
    most = max(budget.tokens + max(0, least.others - free), _cost(least, free))
    share = max(budget.tokens // window.SUFFIX_SHARE, LEAST_AFTER)
    fits = [
        (each, known)
        for pieces in form.pieces
        for start in begins
        for each, known in _lengths(form, pieces, start, budget, most, share)
        if _cost(each, known) <= (max(most, _GOES_ON) if _is_kept(each, known) else most)
        and (room is None or len(each.token_ids) <= room)
    ]
    if not fits:
        return (least, free) if room is None or len(least.token_ids) <= room else None
    whole = [each for each in fits if each[0].is_whole]
    return max(whole or fits, key=lambda each: _worth(each[0], each[1], share))


def _lengths(
    form: Form, pieces: int, start: Start, budget: Budget, most: int, share: int
) -> Iterator[tuple[Layout, int]]:
    """The prompts with this beginning that differ in how much of the text behind the cursor they show.

    Where it stands last it is computed again with every line, so it gets no more than a share of the budget, besides
    what of it was read before. Where the window is new it gets what the text before the cursor leaves.
    """
    longest = form.layout(pieces, start, form.after)
    free = budget.free(longest.token_ids)
    is_kept = _is_kept(longest, free)
    stands_last = longest.shared is not None
    is_limited = is_kept and (stands_last or not start.is_whole)
    again = max(share, budget.tokens // AGAIN_SHARE) if start.is_whole else share
    wanted = again if is_limited else max(share, most - len(start.ids))
    ahead = min(max(0, free - longest.after_at), form.after)
    if not stands_last:  # a length that differs a little would have all behind it read anew
        enough, lengths = max(wanted, ahead), [LEAST_AFTER, *(share << shift for shift in range(5))]
    else:
        affordable = form.after - (_cost(longest, free) - most)
        enough, lengths = ahead + wanted, [LEAST_AFTER, share, min(ahead + wanted, affordable)]
    if (start.is_whole and not is_limited) or enough >= form.after:
        yield longest, free
    least = min(form.after, LEAST_AFTER if is_kept or stands_last else share)
    for length in sorted(set(lengths)):
        if least <= length <= enough and length < form.after:
            each = form.layout(pieces, start, length)
            yield each, budget.free(each.token_ids)


def _is_kept(layout: Layout, free: int) -> bool:
    """Whether the beginning of the text before the cursor was read before."""
    return free - layout.before_at >= LEAST_BEFORE // 2


def _cost(layout: Layout, free: int) -> int:
    return len(layout.token_ids) - free


def _worth(layout: Layout, free: int, share: int) -> float:
    """How much is shown for what it costs, in tokens right before the cursor."""
    behind = min(layout.after, share) + _FURTHER_BEHIND * max(0, layout.after - share)
    shown = min(layout.before, window.MOST_BEFORE) + behind + _OTHERS * layout.others
    return shown - _PRICE * _cost(layout, free)
