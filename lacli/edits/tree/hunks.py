"""Where two lists of lines differ. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_MOST_PAIRS = 5_000_000
"""Beyond so many equal pairs (two long files of one repeated line) frequent lines are no anchors any more."""


class Hunk(NamedTuple):
    """Lines `before[start:end]` become `after[new_start:new_end]`."""

    start: int
    end: int
    new_start: int
    new_end: int


def hunks(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Hunk]:
    """The differences in order, as small as equal lines allow."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    left, right = before[head : len(before) - tail], after[head : len(after) - tail]
    found = _in_step(left, right) if len(left) == len(right) else None
    return [
        Hunk(head + start, head + end, head + new_start, head + new_end)
        for start, end, new_start, new_end in found or _aligned(left, right)
    ]


def _in_step(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[Hunk] | None:
    """The differences line by line, where no alignment keeps more: of equal lines each is then its own successor."""
    same = [one == other for one, other in zip(left, right, strict=True)]
    if sum(same) < (Counter(left) & Counter(right)).total():
        return None
    found: list[Hunk] = []
    for at, equal in enumerate(same):
        if equal:
            continue
        start = found.pop().start if found and found[-1].end == at else at
        found.append(Hunk(start, at + 1, start, at + 1))
    return found


def _aligned(left: Sequence[Hashable], right: Sequence[Hashable]) -> Iterator[Hunk]:
    ours, theirs = Counter(left), Counter(right)
    many = sum(count * theirs[line] for line, count in ours.items()) > _MOST_PAIRS
    for kind, start, end, new_start, new_end in SequenceMatcher(None, left, right, autojunk=many).get_opcodes():
        if kind != "equal":
            yield Hunk(start, end, new_start, new_end)
