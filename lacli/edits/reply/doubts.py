"""Whether a text that is given for another one may be a piece of it, shown first: parts of it are left out. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lacli.edits.tree.hunks import hunks
from lacli.text.lines import written

PLACEHOLDER = re.compile(
    r"""(?:\.{3}|…)?\s*(?:the\ |keep\ |all\ )*
    (?:(?:rest|remainder|remaining)\b.{0,60}?\b(?:code|file|content|method|function|class|line|text|part|section|stays?|
        unchanged|same|here|omitted|as\ is)\w*
    |(?:existing|previous|original|other)\s(?:\w+\s)?(?:code|content|method|function|class|line|implementation|import|
        test|section|entr|item|stuff|part|logic)\w*
    |(?:unchanged|omitted|no\ changes?|same\ as|as\ before)\b)
    .{0,40}
    |(?:\.{3}|…).{0,60}?\b(?:rest|existing|unchanged|same|remain|other|more|here|omitted|code|etc)\w*.{0,40}
    |\.{3}|…""",
    re.VERBOSE | re.IGNORECASE,
)
"""What stands in such a line besides a comment's marks."""
COMMENT = re.compile(r"\{?(?:#|//|/\*|\*|<!--|--|;|%)|[\[({<]?\s*(?:\.{3}|…)")
MARKS = "#/*<!->;%{}[]() \t"
BARE_DOTS = re.compile(r"\.{3}|…")
DOTS_FOR = 3
"""So many lines lost to bare dots are no body written so on purpose."""
FEW_LINES = 6
"""A part of fewer lines may shrink to anything but nothing."""
LOST_SHARE = 0.4
"""The share of lines that is missed, in an edit that shortens nothing."""
_LOST_RUN = 12
"""So many lines gone in one place, with next to nothing in their stead, are missed."""


def doubts(before: str, after: str) -> str:
    """Why it may be a piece; empty where it seems to be all."""
    old, new = before.split("\n"), after.split("\n")
    return _placeholder(old, new) or _shrunken(old, new)


def _placeholder(old: Sequence[str], new: Sequence[str]) -> str:
    """A line that stands for what the model did not write again."""
    for hunk in hunks(old, new):
        lost = written(old[hunk.start : hunk.end])
        for line in new[hunk.new_start : hunk.new_end]:
            if _stands_for(line.strip(), lost):
                return f"the reply leaves out what was to be kept ({line.strip()[:60]!r})"
    return ""


def _stands_for(line: str, lost: int) -> bool:
    """Whether this line is written in place of so many."""
    if BARE_DOTS.fullmatch(line):
        return lost >= DOTS_FOR
    return lost > 0 and bool(COMMENT.match(line) and PLACEHOLDER.fullmatch(line.strip(MARKS)))


def _shrunken(old: Sequence[str], new: Sequence[str]) -> str:
    had, has = written(old), written(new)
    if had and not has:
        return "the reply is empty"
    if had < FEW_LINES:
        return ""
    if had - has > had * LOST_SHARE:
        lines = "line" if has == 1 else "lines"
        return f"the reply has {has} {lines} where {had} were"
    for line, lost in lost_runs(old, new):
        return f"the reply lacks {lost} lines from line {line + 1} on"
    return ""


def lost_runs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where long runs of lines have next to nothing in their stead, and how many are gone there."""
    for hunk in hunks(old, new):
        gone, came = written(old[hunk.start : hunk.end]), written(new[hunk.new_start : hunk.new_end])
        if gone >= _LOST_RUN and came * 4 <= gone:
            yield hunk.start, gone - came
