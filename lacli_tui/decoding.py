"""What the steps of a reply add up to, and which characters of it who guessed. Pure; fed by `messages.Stats`."""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


class StepStats:
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


class SourceTrace:
    """Who guessed which characters of a reply, in a few bytes a step, as it is kept as long as the chat is open."""

    __slots__ = ("_lengths", "_names", "_who", "tokens")

    def __init__(self, steps: Sequence[Decoded] = ()) -> None:
        self.tokens: Counter[str] = Counter()
        """How many tokens each source guessed; those of "" nobody did."""
        self._names = [""]
        self._who = bytearray()
        """Of each run, the place of its source in `_names`."""
        self._lengths = array("I")
        """Of each run, its characters."""
        self.add(steps)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self._who)

    def add(self, steps: Sequence[Decoded]) -> None:
        """More was decoded."""
        for decoded in steps:
            self.tokens.update(decoded.sources)
            begins = True
            for source, length in zip(decoded.sources, decoded.lengths, strict=False):
                if source not in self._names:
                    self._names.append(source)
                who = self._names.index(source)
                if self._who and self._who[-1] == who and not (source and begins):
                    self._lengths[-1] += length
                else:
                    self._who.append(who)
                    self._lengths.append(length)
                begins = False

    def runs(self) -> Iterator[tuple[str, int]]:
        """Source and characters of each run."""
        return ((self._names[who], length) for who, length in zip(self._who, self._lengths, strict=True))


def runs(text: str, trace: SourceTrace) -> list[Run]:
    """A reply, cut by who guessed its tokens; what no step accounts for comes last, guessed by nobody."""
    found: list[Run] = []
    at = 0
    for source, length in trace.runs():
        if text[at : at + length]:
            found.append(Run(text[at : at + length], source))
        at = min(at + length, len(text))
    return [*found, Run(text[at:], "")] if text[at:] else found
