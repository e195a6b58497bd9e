"""The contract of a draft source: it guesses continuations, and is told what became of them. No torch here.
A source must never block on disk or network inside these calls, and must never raise on odd token ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self


@dataclass(frozen=True, slots=True)
class Draft:
    """One guessed continuation of the context."""

    token_ids: tuple[int, ...]
    """The guess, first token first."""
    chances: tuple[float, ...]
    """For each token the estimated chance that it *and all before it* are accepted; never above its parent's."""
    source: str
    """Who guessed: window, prompt, session, project, files or successor."""
    key: int = 0
    """The source's own note (for instance the class of match), handed back untouched in `credit`."""
    place: int = -1
    """Where in the source's own index the guess was read, handed back in `credit`, too."""


class DraftSource(Protocol):
    """One place guesses come from."""

    name: str
    """As shown in statistics; one of the names of `Draft.source`."""

    def start(self, context: Sequence[int]) -> None:
        """A reply begins; `context` is the whole prompt."""
        ...

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        """Guesses for what follows `context` (its last token is row 0), none longer than `room` tokens."""
        ...

    def credit(self, draft: Draft, accepted: int) -> None:
        """Of this draft, cut to the tokens the text has judged, the first `accepted` were right, any other is wrong."""
        ...

    def observe(self, token_ids: Sequence[int]) -> None:
        """These tokens were emitted after the context last seen."""
        ...

    def fork(self) -> Self:
        """The same knowledge for a reply that is written beside others; itself where a reply leaves no trace in it.

        What the fork learns of the reply's text is its own until `merge`, so that it may still be forgotten as one.
        """
        ...

    def merge(self, fork: Self) -> None:
        """The fork's reply has ended: take what it learned, as if the reply had been written here just now."""
        ...

    def numbers(self) -> list[float]:
        """What has been learned of how far to trust its guesses, to be kept for `restore`; may be empty."""
        ...

    def restore(self, numbers: Sequence[float]) -> None:
        """Take back what `numbers` gave in an earlier process; numbers of another shape are ignored."""
        ...
