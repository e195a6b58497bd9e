"""Lines that a window may begin at: told by what stands in them, so that edits and the cursor do not move them.

A window that begins so many lines above the cursor begins elsewhere with every line, and nothing of it that was read
before is of use. One line in eight is an anchor, wherever it stands: a window keeps its beginning while the cursor
moves on, and finds it again in another process. Pure.
"""

from __future__ import annotations

import zlib

_ONE_IN = 8
_LEAST = 4
"""Characters of a line without the blanks around it: shorter ones, a bracket or nothing, stand in many places."""


def anchors(text: str, begins_file: bool) -> list[int]:
    """Where in a text its anchors begin; its first line is one where it `begins_file`, and none where it may be cut."""
    found, at = [0] if begins_file else [], 0
    for line in text.split("\n")[:-1]:  # the last one is the cursor's, and changes
        if at and is_anchor(line):
            found.append(at)
        at += len(line) + 1
    return found


def is_anchor(line: str) -> bool:
    """Whether a window may begin with this line."""
    return len(line.strip()) >= _LEAST and zlib.crc32(line.encode("utf-8", "replace")) % _ONE_IN == 0


def between(text: str, at: int, reach: int) -> str:
    """The text around a place, from an anchor to one, between `reach` and twice as many characters on either side.

    It changes as a whole now and then, and not a little with every line.
    """
    low, high = max(0, at - reach), min(len(text), at + reach)
    first, last = max(0, low - reach), min(len(text), high + reach)
    before = anchors(text[first:low], begins_file=first == 0)
    after = anchors(text[high:last], begins_file=False)
    return text[first + before[-1] if before else low : high + after[0] if after else last]
