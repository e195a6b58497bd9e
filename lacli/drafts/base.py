"""The two interfaces of draft sources: a `DraftSource` proposes continuations, a `FollowerSource` extends any of them.

No torch here. A source must not block on disk or network inside these calls and must not raise on invalid token ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

NO_TOKEN = 0xFFFFFFFF
"""In stored tables: no follower, or in the key of a pair: any preceding token."""
TAIL = 4
"""How many preceding tokens a follower source is given."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One guessed continuation of the context."""

    token_ids: tuple[int, ...]
    """The guessed tokens in order."""
    chances: tuple[float, ...]
    """For each token the estimated probability that it *and all before it* are accepted; non-increasing."""
    source: str
    """Name of the source: window, prediction, prompt, session, project or files."""
    key: int = 0
    """Private to the source (for instance the class of match); passed back unchanged in `credit`."""
    position: int = -1
    """Private to the source: where in its index the guess was read; passed back in `credit`."""


class GuessSource(Protocol):
    """What both kinds of source share: they follow a reply and learn from it."""

    name: str
    """As shown in statistics."""

    def start(self, context: Sequence[int]) -> None:
        """Begin a reply; `context` is the prompt and the first token."""
        ...

    def observe(self, token_ids: Sequence[int]) -> None:
        """Append tokens that were emitted after the context seen so far."""
        ...

    def fork(self) -> Self:
        """A copy for a reply in a batch, sharing what is known so far; the source itself if replies do not change it.

        What the fork learns from the reply's text stays its own until `merge`, so that it can be discarded as a whole.
        """
        ...

    def merge(self, fork: Self) -> None:
        """Take over what the fork learned, once its reply has ended, as if that reply had been written here."""
        ...

    def numbers(self) -> list[float]:
        """The learned calibration of its guesses, to be stored for `restore`; may be empty."""
        ...

    def restore(self, numbers: Sequence[float]) -> None:
        """Restore what `numbers` returned in an earlier process; a list of another shape is ignored."""
        ...


class DraftSource(GuessSource, Protocol):
    """Proposes continuations of the context."""

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        """Guesses of what follows `context` (whose last token is row 0), each of at most `room` tokens."""
        ...

    def credit(self, draft: Draft, accepted: int) -> None:
        """Learn the outcome of a draft, cut to the tokens that the text has decided: the first `accepted` were right,
        the next one, if any, was wrong."""
        ...


Found = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Length of the context that was found, its followers, likeliest first, and the weight of each: -16 log2 of its
probability."""


class StaticFollowers(Protocol):
    """Predicts the token after a short context from a fixed table; never learns."""

    def find(self, tail: tuple[int, ...]) -> Found:
        """Look up the longest known suffix of these tokens; (0, (), ()) if none is known."""
        ...


class FollowerSource(GuessSource, Protocol):
    """Predicts the token after any short context, and so extends every node of the draft tree, whatever its source."""

    def follow(self, *tail: int) -> Sequence[tuple[int, float]]:
        """Candidates for the token after `tail` (the last `TAIL` tokens, or fewer at the beginning of a text), each
        with its probability given `tail`."""
        ...

    def learn(
        self, pairs: Iterable[tuple[int, int]], followers: Iterable[list[int]], logits: Iterable[list[float]]
    ) -> None:
        """Learn from a forward. For each verified row: the preceding token and the row's own, the model's top tokens
        after it, likeliest first, and their logits."""
        ...


@dataclass(frozen=True, slots=True)
class Sources:
    """All sources of a reply except the lookahead window."""

    drafts: Sequence[DraftSource] = ()
    """In order of preference among equally likely drafts."""
    follower: FollowerSource | None = None

    def all(self) -> tuple[GuessSource, ...]:
        """All sources, the draft sources first."""
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
