"""The ways a prompt is decoded: what may guess, and what the pool holds. Called by `runner`, `exact` and `report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lacli.drafts.base import DraftSource
from lacli.drafts.lookup import ProjectSource, PromptSource, SessionSource
from lacli.drafts.successor import SuccessorSource
from lacli.engine.controller import Limits
from lacli.engine.sampler import SamplingOptions

_MATCHED = 4  # the longest key of the index; any longer and a segment would also hold right continuations
_WRONG = 24
_SEED = 1


@dataclass(frozen=True, slots=True)
class Mode:
    """One way of decoding."""

    name: str
    guess: Literal["nothing", "window", "prompt", "all"]
    """Which sources guess."""
    pool: Literal["", "others", "own", "wrong"] = ""
    """What stands in the pool: nothing, the other prompts' replies, this one's own, or its own continued wrongly."""
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

    def sources(self, segments: Sequence[Sequence[int]]) -> list[DraftSource]:
        """New sources, nothing learned yet."""
        if self.guess in ("nothing", "window"):
            return []
        if self.guess == "prompt":
            return [PromptSource()]
        project = [ProjectSource(segments)] if segments else []
        return [PromptSource(), SessionSource(), *project, SuccessorSource()]


PLAIN = Mode("plain", "nothing")
SAMPLED_PLAIN = Mode("sampled plain", "nothing", sampled=True)
WRONG_POOL = Mode("wrong pool", "all", "wrong")
MEASURED = (
    PLAIN,
    Mode("jacobi", "window"),
    Mode("prompt lookup", "prompt"),
    Mode("cold", "all"),
    Mode("warm-similar", "all", "others"),
    Mode("warm-replay", "all", "own"),
    SAMPLED_PLAIN,
    Mode("sampled cold", "all", sampled=True),
)
COMPARED = (
    *(mode for mode in MEASURED if mode.guess != "nothing"),
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
        wrong = [(token_id + 1 + place) % vocab_size for token_id in text[place + right : place + right + _WRONG]]
        segments.append((*text[place - _MATCHED : place + right], *wrong))
    return segments
