"""The two contracts of what guesses: draft sources propose continuations, a follower source extends any of them.

No torch here. A source must never block on disk or network inside these calls, and must never raise on odd token ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

NO_TOKEN = 0xFFFFFFFF
"""In stored tables: among followers none, in the key of a pair any token before."""
TAIL = 4
"""How many of the last tokens a follower source is told."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One guessed continuation of the context."""

    token_ids: tuple[int, ...]
    """The guess, first token first."""
    chances: tuple[float, ...]
    """For each token the estimated chance that it *and all before it* are accepted; never above its parent's."""
    source: str
    """Who guessed: window, prediction, prompt, session, project or files."""
    key: int = 0
    """The source's own note (for instance the class of match), handed back untouched in `credit`."""
    position: int = -1
    """Where in the source's own index the guess was read, handed back in `credit`, too."""


class GuessSource(Protocol):
    """What both kinds of source have in common: they follow a reply and keep what they learn from it."""

    name: str
    """As shown in statistics."""

    def start(self, context: Sequence[int]) -> None:
        """A reply begins; `context` is the prompt and the first token."""
        ...

    def observe(self, token_ids: Sequence[int]) -> None:
        """These tokens were emitted after the context last seen."""
        ...

    def fork(self) -> Self:
        """The same knowledge for a reply that is written beside others; itself if a reply leaves no trace in it.

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
        """Restore what `numbers` returned in an earlier process; numbers of another shape are ignored."""
        ...


class DraftSource(GuessSource, Protocol):
    """Proposes whole continuations of the context."""

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        """Guesses for what follows `context` (its last token is row 0), none longer than `room` tokens."""
        ...

    def credit(self, draft: Draft, accepted: int) -> None:
        """Of this draft, cut to the tokens the text has judged, the first `accepted` were right, any other is wrong."""
        ...


Found = tuple[int, tuple[int, ...], tuple[int, ...]]
"""How many of the last tokens were found, the followers behind them, likeliest first, and for each the weight of its
probability, -16 log2."""


class StaticFollowers(Protocol):
    """Knows what may come after a few tokens and never learns."""

    def find(self, tail: tuple[int, ...]) -> Found:
        """What follows the longest end of these tokens that is known; (0, (), ()) where none is."""
        ...


class FollowerSource(GuessSource, Protocol):
    """Knows what may come after any few tokens, so that it extends every node of the draft tree, whoever guessed it."""

    def follow(self, *tail: int) -> Sequence[tuple[int, float]]:
        """What may come after these tokens, the latest last, each with its chance given them: `TAIL` of them where the
        text has as many."""
        ...

    def learn(
        self, pairs: Iterable[tuple[int, int]], followers: Iterable[list[int]], logits: Iterable[list[float]]
    ) -> None:
        """After a forward, for each verified row: the token before it and its own, the model's top tokens there,
        likeliest first, and their logits."""
        ...


@dataclass(frozen=True, slots=True)
class Sources:
    """All that guesses for a reply, besides the lookahead window."""

    drafts: Sequence[DraftSource] = ()
    """In the order that decides between equal promises."""
    follower: FollowerSource | None = None

    def all(self) -> tuple[GuessSource, ...]:
        """Both kinds, the draft sources first."""
        return (*self.drafts, *([self.follower] if self.follower is not None else []))

    def fork(self) -> Sources:
        """See `GuessSource.fork`."""
        follower = self.follower.fork() if self.follower is not None else None
        return Sources(tuple(source.fork() for source in self.drafts), follower)

    def merge(self, fork: Sources) -> None:
        """See `GuessSource.merge`."""
        for source, forked in zip(self.drafts, fork.drafts, strict=True):
            if forked is not source:
                source.merge(forked)
        if self.follower is not None and fork.follower is not None and fork.follower is not self.follower:
            self.follower.merge(fork.follower)
