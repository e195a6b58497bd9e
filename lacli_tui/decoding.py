"""What the steps of a reply add up to, and which characters of it who guessed. Pure; fed by `messages.Stats`."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from lacli_tui.messages import Decoded

SOURCES = {
    "prompt": "p",
    "session": "s",
    "project": "j",
    "files": "f",
    "successor": "u",
    "window": "w",
}
"""Who guesses, in the order shown, with the letter that stands for each where colours are not seen."""

_NOW = 16
_SEEN = 256


class Tally:
    """The steps of one reply."""

    def __init__(self) -> None:
        self.steps = 0
        self.accepted: deque[int] = deque(maxlen=_SEEN)
        """Guesses kept in each of the latest steps."""
        self.counts: list[int] = []
        """How many steps kept 0, 1, 2 … guesses."""
        self._tokens: deque[int] = deque(maxlen=_NOW)
        self._begun = False

    def add(self, steps: Sequence[Decoded], begins: bool) -> None:
        """More steps; `begins`: they are the first of a reply, and the very first of them is what prefill gave."""
        if begins:
            self.__init__()  # type: ignore[misc]
        for step in steps:
            if not self._begun:
                self._begun = True
                continue
            kept = sum(map(bool, step.sources))
            self.steps += 1
            self.accepted.append(kept)
            self._tokens.append(len(step.sources))
            self.counts += [0] * (kept + 1 - len(self.counts))
            self.counts[kept] += 1

    @property
    def now(self) -> float | None:
        """Tokens per step of the last 16; None before the first."""
        return sum(self._tokens) / len(self._tokens) if self._tokens else None


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring characters of a reply that the same source guessed, in one step."""

    text: str
    source: str
    """"" where nobody did."""


def runs(text: str, steps: Sequence[Decoded]) -> list[Run]:
    """A reply, cut by who guessed its tokens; what no step accounts for comes last, guessed by nobody."""
    tokens: list[tuple[int, str, int]] = []
    end = 0
    for step, decoded in enumerate(steps):
        for source, length in zip(decoded.sources, decoded.lengths, strict=False):
            end += length
            tokens.append((step if source else -1, source, end))
    found: list[Run] = []
    at = 0
    for (_, source), group in groupby(tokens, key=lambda token: token[:2]):
        *_, (_, _, end) = group
        if text[at:end]:
            found.append(Run(text[at:end], source))
        at = min(end, len(text))
    return [*found, Run(text[at:], "")] if text[at:] else found
