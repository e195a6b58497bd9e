"""Texts as lines: how many say something, and how much two texts have in common. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable


def with_ends(text: str) -> list[str]:
    """The lines of a text, each with its \\n; no other character ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def written(lines: Iterable[str]) -> int:
    """How many of these are not blank."""
    return sum(bool(line.strip()) for line in lines)


def likeness(one: str, other: str) -> float:
    """Share of the lines of both that they have in common, blank ones and indentation not counted; 0 to 1."""
    ours, theirs = _counted(one), _counted(other)
    total = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / total if total else 1.0


def _counted(text: str) -> Counter[str]:
    return Counter(stripped for line in text.split("\n") if (stripped := line.strip()))
