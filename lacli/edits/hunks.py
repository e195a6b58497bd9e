"""Where two lists of lines differ. Pure; called by `diff` and `splice`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
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
    ours, theirs = Counter(left), Counter(right)
    many = sum(count * theirs[line] for line, count in ours.items()) > _MOST_PAIRS
    return [
        Hunk(head + start, head + end, head + new_start, head + new_end)
        for kind, start, end, new_start, new_end in SequenceMatcher(None, left, right, autojunk=many).get_opcodes()
        if kind != "equal"
    ]
