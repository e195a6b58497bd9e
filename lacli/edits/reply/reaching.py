"""A reply that goes beyond the lines it was to rewrite: what of it belongs to them. Pure."""

from __future__ import annotations

from lacli.edits.tree.hunks import Hunk, hunks

_TELLING = 6
"""A line of fewer letters may stand anywhere."""
_OUTSIDE_LINES, _OUTSIDE_SHARE = 2, 0.25
"""So many lines of what is around the part, and this share of the reply, were not written anew by chance."""


def reaches_out(part: str, around: str, new: str) -> bool:
    """Whether the model wrote again what stands around the lines it was to rewrite."""
    outside = {line.strip() for line in around.split("\n")} - {line.strip() for line in part.split("\n")}
    telling = [line for each in new.split("\n") if len(line := each.strip()) >= _TELLING]
    from_outside = sum(line in outside for line in telling)
    return from_outside >= _OUTSIDE_LINES and from_outside >= _OUTSIDE_SHARE * len(telling)


def inside(before: str, part: str, after: str, new: str) -> str | None:
    """What a reply that goes beyond the part makes of it; None where both cannot be told apart."""
    start, count = before.count("\n"), len(part.split("\n")) - part.endswith("\n")
    end = start + count
    old, lines = (before + part + after).split("\n"), new.split("\n")
    kept: list[str] = []
    at = start
    for hunk in hunks(old, lines):
        hunk = _slid_up(hunk, end, old, lines)
        if hunk.end < start or hunk.start > end or (hunk.start == end < hunk.end) or (hunk.end == start > hunk.start):
            continue
        if hunk.start < start or hunk.end > end:
            return None
        kept += old[at : hunk.start] + lines[hunk.new_start : hunk.new_end]
        at = hunk.end
    return "".join(line + "\n" for line in kept + old[at:end])


def _slid_up(hunk: Hunk, end: int, old: list[str], new: list[str]) -> Hunk:
    """The same insertion at the end of the part, where equal lines let it be seen there, too."""
    start, first, last = hunk.start, hunk.new_start, hunk.new_end
    while hunk.start == hunk.end and start > end and old[start - 1] == new[last - 1]:
        start, first, last = start - 1, first - 1, last - 1
    return Hunk(start, start, first, last) if hunk.start == hunk.end and start == end else hunk
