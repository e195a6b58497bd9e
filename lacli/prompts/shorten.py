"""Content that is too long for the context, cut to a number of tokens where the user allowed it.

Pure. A text is never tokenised beyond what could fit, so that ten megabytes cost no more than one context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lacli.prompts.content import CHARACTERS_A_TOKEN
from lacli.text.tokenizer import Tokenizer

_TRIES = 12
_DIGITS = 3
"""Of an estimate."""
_LINE_SHARE = 5
"""A cut moves back to the last line end where that costs less than one part in so many."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """A text with a part left out."""

    text: str
    kept: int
    """Tokens of it that are left."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many tokens a text has."""

    tokens: int
    exact: bool
    """False where it was judged by its beginning."""

    def __str__(self) -> str:
        if self.exact:
            return f"{self.tokens:,}"
        return f"about {round(self.tokens, _DIGITS - len(str(self.tokens))):,}"


def size_of(text: str, most: int, tokenizer: Tokenizer) -> Size:
    """The tokens of a text; of one that cannot have less than `most` an estimate."""
    reach = most * CHARACTERS_A_TOKEN
    count = len(tokenizer.encode(text[:reach]))
    return Size(count, True) if len(text) <= reach else Size(count * len(text) // reach, False)


def shares(sizes: Sequence[int], room: int) -> list[int]:
    """Room for each of several texts: the small ones whole, what is left over equally among the others."""
    given = [0] * len(sizes)
    by_size = sorted(range(len(sizes)), key=lambda index: sizes[index])
    for done, index in enumerate(by_size):
        given[index] = min(sizes[index], max(0, room) // (len(sizes) - done))
        room -= given[index]
    return given


def shortened(text: str, tokens: int, without: str, tokenizer: Tokenizer) -> Shortened:
    """At most `tokens` tokens of a text `without` its head, middle or tail, which a line in brackets stands for."""
    head = {"head": 0, "middle": tokens - tokens // 2, "tail": tokens}[without]
    front = _front(text, head, tokenizer) if head else ""
    back = _back(text[len(front) :], tokens - head, tokenizer) if tokens > head else ""
    kept = len(tokenizer.encode(front)) + len(tokenizer.encode(back))
    mark = "[... a part is left out here ...]"
    parts = (front.rstrip("\n"), mark, back.removeprefix("\n"))
    return Shortened("\n".join(part for part in parts if part), kept)


def _front(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    part = text[: tokens * CHARACTERS_A_TOKEN]
    part = part[: _fitting(part, tokens, tokenizer, False)]
    line_end = part.rfind("\n") + 1
    return part[:line_end] if len(part) < len(text) and _near(line_end, len(part)) else part


def _back(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    part = text[max(0, len(text) - tokens * CHARACTERS_A_TOKEN) :]
    part = part[len(part) - _fitting(part, tokens, tokenizer, True) :]
    line_start = part.find("\n") + 1
    return part[line_start:] if len(part) < len(text) and _near(len(part) - line_start, len(part)) else part


def _near(kept: int, size: int) -> bool:
    return size - kept <= size // _LINE_SHARE


def _fitting(text: str, tokens: int, tokenizer: Tokenizer, from_end: bool) -> int:
    """Nearly as many characters of the beginning (or end) of `text` as make `tokens` tokens, never more.

    Found by interpolation, since tokens are about as long everywhere in a text.
    """

    def count(size: int) -> int:
        return len(tokenizer.encode(text[len(text) - size :] if from_end else text[:size]))

    low, low_n, high, high_n = 0, 0, len(text), count(len(text))
    if high_n <= tokens:
        return high
    for _ in range(_TRIES):
        size = low + (high - low) * (tokens - low_n) // max(1, high_n - low_n)
        size = min(max(size, low + 1), high - 1)
        if size <= low:
            break
        found = count(size)
        if found > tokens:
            high, high_n = size, found
            continue
        low, low_n = size, found
        if tokens - found <= max(2, tokens // 64):
            break
    return low
