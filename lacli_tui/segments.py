"""A reply split into prose and code while it is being written. Pure.

Fences are found by `lacli.text.fences`, so that the n-th code block on the screen is the n-th of /copy and /save. The
whole text is parsed again only after a line that may open or close a fence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lacli.text.fences import blocks

_FENCES = ("```", "~~~")
_MOST = 100
"""The most code blocks shown as such; what follows is one segment, as each costs time at every key press."""
_POSSIBLE_FENCE = re.compile(r" *(?:`{1,2}|`{3,}[^`]*|~{1,2}|~{3,}.*)")


@dataclass(frozen=True, slots=True)
class Segment:
    text: str
    """For code, what is between the fences."""
    code: bool = False
    language: str = ""
    closed: bool = True
    """False for code that is still being written; prose is never closed."""
    number: int = 0
    """Of code, counted from 1."""


def segments(text: str) -> list[Segment]:
    found: list[Segment] = []
    at = 0
    for number, block in enumerate(blocks(text)[:_MOST], 1):
        if text[at : block.start].strip():
            found.append(Segment(text[at : block.start]))
        found.append(Segment(block.text, True, block.language, block.closed, number))
        at = block.end
    if text[at:].strip():
        found.append(Segment(text[at:]))
    return found


class Segments:
    """The segments of a growing reply."""

    def __init__(self) -> None:
        self.text = ""
        self._known: list[Segment] = []
        self._parsed = 0
        """How much of the text, in whole lines, `_known` covers."""
        self._opened_at_margin = True
        """Whether the open block began at the margin: then nothing but a fence ends it."""

    def append(self, text: str) -> list[Segment]:
        """Add text and return all segments."""
        self.text += text
        end = self.text.rfind("\n") + 1
        lines = self.text[self._parsed : end]
        if lines:
            if self._only_continues(lines):
                self._known[-1] = replace(self._known[-1], text=self._known[-1].text + lines)
            else:
                self._known = segments(self.text[:end])
                self._opened_at_margin = self._opens_at_margin(end)
            self._parsed = end
        return self._with_rest(self.text[end:])

    def _only_continues(self, lines: str) -> bool:
        """Whether these lines only continue the last segment."""
        if not self._known:
            return False
        last = self._known[-1]
        if not last.code:
            return not any(mark in lines for mark in _FENCES)
        return (
            not last.closed
            and self._opened_at_margin
            and not any(line.lstrip(" ").startswith(_FENCES) for line in lines.split("\n"))
        )

    def _opens_at_margin(self, end: int) -> bool:
        if not self._known or not self._known[-1].code or self._known[-1].closed:
            return True
        opening = self.text.rfind("\n", 0, blocks(self.text[:end])[-1].start + 1) + 1
        return self.text.startswith(_FENCES, opening)

    def _with_rest(self, rest: str) -> list[Segment]:
        """Add the unfinished last line, unless it may become a fence."""
        if not rest.strip() or _POSSIBLE_FENCE.fullmatch(rest):
            return list(self._known)
        last = self._known[-1] if self._known else None
        if last is None or (last.code and last.closed):
            return [*self._known, Segment(rest)]
        return [*self._known[:-1], replace(last, text=last.text + rest)]
