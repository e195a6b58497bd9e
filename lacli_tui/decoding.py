"""What the steps of a reply add up to, and which source guessed which of its characters. Pure."""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lacli_tui.messages import Decoded

SOURCES = {"prompt": "p", "session": "s", "project": "j", "files": "f", "successor": "u", "window": "w"}
"""The sources in the order shown, each with the letter that stands for it where there are no colours."""

_RECENT = 16
_CHARTED = 256


class StepStats:
    def __init__(self) -> None:
        self.steps = 0
        self.accepted: deque[int] = deque(maxlen=_CHARTED)
        """How many guesses each of the last steps kept."""
        self.counts: list[int] = []
        """How many steps kept 0, 1, 2 … guesses."""
        self._tokens: deque[int] = deque(maxlen=_RECENT)
        self._started = False

    def add(self, steps: Sequence[Decoded], begins: bool) -> None:
        """Add steps; `begins`: they are the first of a reply, and the very first is the token that prefill gave."""
        if begins:
            self.__init__()  # type: ignore[misc]
        for step in steps:
            if not self._started:
                self._started = True
                continue
            kept = sum(map(bool, step.sources))
            self.steps += 1
            self.accepted.append(kept)
            self._tokens.append(len(step.sources))
            self.counts += [0] * (kept + 1 - len(self.counts))
            self.counts[kept] += 1

    @property
    def now(self) -> float | None:
        """Tokens per step over the last 16 steps; None before the first."""
        return sum(self._tokens) / len(self._tokens) if self._tokens else None


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring characters of a reply that one source guessed in one step."""

    text: str
    source: str
    """"" if no source did."""


class SourceTrace:
    """Which source guessed which characters, in a few bytes a step, as it is kept as long as the chat is open."""

    __slots__ = ("_lengths", "_names", "_who", "tokens")

    def __init__(self, steps: Sequence[Decoded] = ()) -> None:
        self.tokens: Counter[str] = Counter()
        """How many tokens each source guessed; "" counts those that none did."""
        self._names = [""]
        self._who = bytearray()
        """For each run the index of its source in `_names`."""
        self._lengths = array("I")
        """For each run the number of its characters."""
        self.add(steps)

    def __bool__(self) -> bool:
        return bool(self._who)

    def add(self, steps: Sequence[Decoded]) -> None:
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
        """The source and length of each run."""
        return ((self._names[who], length) for who, length in zip(self._who, self._lengths, strict=True))


def runs(text: str, trace: SourceTrace) -> list[Run]:
    """Split a reply by source; text that no step accounts for comes last, without a source."""
    found: list[Run] = []
    at = 0
    for source, length in trace.runs():
        if text[at : at + length]:
            found.append(Run(text[at : at + length], source))
        at = min(at + length, len(text))
    return [*found, Run(text[at:], "")] if text[at:] else found
