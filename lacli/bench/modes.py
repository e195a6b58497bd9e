"""The ways a prompt is decoded: what may guess, and what the pool holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lacli.drafts.base import Sources, StaticFollowers
from lacli.drafts.lookup import PromptSource
from lacli.drafts.sources import new_sources
from lacli.drafts.successor import SuccessorTable
from lacli.engine.controller import Limits
from lacli.engine.sampler import SamplingOptions

_MATCHED = 4
_COPIES = 8  # as many as an index wants to see: with fewer it looks at shorter matches, which go on rightly
_WRONG = 24
_SEED = 1


@dataclass(frozen=True, slots=True, eq=False)
class Warmth:
    """What a pool brings to a reply."""

    segments: Sequence[Sequence[int] | NDArray[np.uint32]] = ()
    """The log."""
    tables: Sequence[SuccessorTable] = ()
    """Entries of the successor table, those of the last reply last."""
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Calibration by the name of the source."""


COLD = Warmth()


@dataclass(frozen=True, slots=True)
class Mode:
    """One way of decoding."""

    name: str
    guess: Literal["nothing", "window", "prompt", "all"]
    """Which sources guess."""
    pool: Literal["", "others", "own", "big", "wrong"] = ""
    """What stands in the pool: nothing, the other prompts' replies, this one's own, that and a million unrelated
    tokens, or its own continued wrongly."""
    primed: bool = True
    """Whether the successor table begins with what the model knows from the primer, and asks n-grams, as in every other
    process."""
    sampled: bool = False
    """Temperature 0.7, top-p 0.95 and a seed instead of greedy."""

    @property
    def options(self) -> SamplingOptions:
        """How a token is drawn."""
        return SamplingOptions(temperature=0.7, top_p=0.95, seed=_SEED) if self.sampled else SamplingOptions()

    def limits(self, most: Limits) -> Limits:
        """The bounds of this mode within `most`."""
        if self.guess == "nothing":
            return replace(most, lookahead=False)
        if self.guess == "window":
            return replace(most, ngram=2, guesses=0)
        return replace(most, window=0) if self.guess == "prompt" else most

    def sources(self, pool: Warmth, primer: SuccessorTable | None, ngrams: StaticFollowers | None) -> Sources:
        """New sources that know nothing but the primer, the n-grams and `pool`."""
        if self.guess in ("nothing", "window"):
            return Sources()
        if self.guess == "prompt":
            return Sources((PromptSource(),))
        primed = [primer] if primer is not None and self.primed else []
        return new_sources(pool.segments, [*primed, *pool.tables], pool.numbers, ngrams=ngrams if self.primed else None)


PLAIN = Mode("plain", "nothing")
SAMPLED_PLAIN = Mode("sampled plain", "nothing", sampled=True)
WRONG_POOL = Mode("wrong pool", "all", "wrong")
BIG_POOL = Mode("big pool", "all", "big")
ALL_COLD = Mode("cold", "all")
MEASURED = (
    PLAIN,
    Mode("jacobi", "window"),
    Mode("prompt lookup", "prompt"),
    Mode("unprimed", "all", primed=False),
    ALL_COLD,
    Mode("warm-similar", "all", "others"),
    Mode("warm-replay", "all", "own"),
    BIG_POOL,
    SAMPLED_PLAIN,
    Mode("sampled cold", "all", sampled=True),
)
COMPARED = (
    *(mode for mode in MEASURED if mode.guess != "nothing" and mode is not BIG_POOL),
    WRONG_POOL,
    Mode("sampled warm-replay", "all", "own", sampled=True),
    Mode("sampled wrong pool", "all", "wrong", sampled=True),
)


def plain_of(mode: Mode) -> Mode:
    """The mode whose text this one must give."""
    return SAMPLED_PLAIN if mode.sampled else PLAIN


def poisoned(prompt: Sequence[int], reply: Sequence[int], vocab_size: int, right: int = 0) -> list[tuple[int, ...]]:
    """Segments that match the text at every place of a reply and go on wrongly, after `right` tokens that are right."""
    text = (*prompt[-_MATCHED:], *reply)
    segments = []
    for place in range(_MATCHED, len(text) - right):
        begun, ahead = text[place - _MATCHED : place + right], text[place + right : place + right + _WRONG]
        for copy in range(_COPIES):
            shift = 1 + (place * _COPIES + copy) % (vocab_size - 1)
            segments.append((*begun, *((token_id + shift) % vocab_size for token_id in ahead)))
    return segments
