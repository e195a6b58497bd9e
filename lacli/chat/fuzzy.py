"""Fuzzy matching of lines, the best ones first. Pure, and fast for tens of thousands of lines.

All words of the query must match: their letters in order, with anything between them; capital letters match exactly.
Adjacent letters, starts of words and the last part of a path score higher.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_BEFORE = frozenset("/_-. \\")


@dataclass(frozen=True, slots=True)
class Fit:
    """A line that matches."""

    text: str
    score: float
    marks: tuple[int, ...]
    """Positions of the matched letters."""


@dataclass(slots=True)
class Lines:
    """Lines to search; a query that extends the last one searches only its matches."""

    lines: Sequence[str]
    _query: str = ""
    _fitting: Sequence[str] = field(default_factory=list)

    def search(self, query: str, most: int = 200) -> tuple[list[Fit], int]:
        """The best matches, and how many there are."""
        words = query.split()
        if not words:
            return [Fit(line, 0.0, ()) for line in self.lines[:most]], len(self.lines)
        goes_on = self._query and query.startswith(self._query) and query.count(" ") == self._query.count(" ")
        lines = self._fitting if goes_on else self.lines
        patterns = [_pattern(word) for word in words]
        for pattern in patterns:
            lines = [line for line in lines if pattern.search(line)]
        self._query, self._fitting = query, lines
        fits = [fit(words, line) for line in lines]
        return heapq.nlargest(most, fits, key=lambda each: each.score), len(fits)


def fit(words: Sequence[str], text: str) -> Fit:
    """Score a text that has all the letters."""
    score, marks = 0.0, set[int]()
    for word in words:
        places = _places(word, text)
        marks.update(places)
        score += _score(places, text)
    return Fit(text, score - len(text) / 100, tuple(sorted(marks)))


def _pattern(word: str) -> re.Pattern[str]:
    parts = [f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in word[1:]]
    return re.compile(re.escape(word[0]) + "".join(parts), re.IGNORECASE if word == word.lower() else 0)


def _places(word: str, text: str) -> list[int]:
    """Positions of the letters: together in the last part, together, else as close to each other near the end."""
    if word == word.lower():
        lowered = text.lower()
        text = lowered if len(lowered) == len(text) else text
    base = text.rfind("/") + 1
    at = text.find(word, base)
    if at < 0:
        at = text.rfind(word)
    if at >= 0:
        return list(range(at, at + len(word)))
    places: list[int] = []
    end = len(text)
    for letter in reversed(word):
        end = text.rfind(letter, 0, end)
        if end < 0:
            return []
        places.append(end)
    start = places[-1] - 1
    places = []
    for letter in word:
        start = text.find(letter, start + 1)
        places.append(start)
    return places


def _score(places: Sequence[int], text: str) -> float:
    if not places:
        return 0.0
    base = text.rfind("/") + 1
    score = 0.0
    before = -2
    for place in places:
        score += 1.0
        if place == before + 1:
            score += 2.0
        if place == 0 or text[place - 1] in _BEFORE or (text[place].isupper() and text[place - 1].islower()):
            score += 1.5
        if place >= base:
            score += 0.5
        before = place
    return score - (places[-1] - places[0] + 1 - len(places)) / 20
