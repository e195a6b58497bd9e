"""The records passed between the stages of a decoding step. Frozen; token ids and counts, no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lacli.models.base import Rows, Scores


class Finish(StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    """An end-of-sequence id, or a stop string."""
    LENGTH = "length"
    """The token budget is used up."""
    CONTEXT = "context"
    """The model's context is full."""
    CANCELLED = "cancelled"
    """The caller asked to stop."""


@dataclass(frozen=True, slots=True)
class ForwardRequest:
    """The rows a reply needs next, on top of what its sequence has cached."""

    rows: Rows
    expected: float
    """Expected tokens of the step: 1 plus the summed chances of its guessed rows."""


@dataclass(frozen=True, slots=True)
class ForwardResult:
    """The answer to a `ForwardRequest`."""

    scores: Scores
    """Scores of the wanted rows; valid until the next forward."""
    ms: float
    """Time of the forward; if replies shared it, this reply's share, proportional to its rows."""
    plain_ms: float | None = None
    """Estimated time of a forward of one row at that moment; None if the cost curve has no times."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was accepted in one step, before any stop rule."""

    path: tuple[int, ...]
    """The rows visited, from row 0 down."""
    token_ids: tuple[int, ...]
    """The token drawn at each row of `path`. All but the last equal the token of the next row; the last is the bonus
    token."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The decision on where an accepted run ends."""

    keep: int
    """How many tokens of the run are delivered; an end-of-sequence id is not."""
    finish: Finish | None = None
    """Set when the reply ends here."""


@dataclass(frozen=True, slots=True)
class Committed:
    """What one step committed to the cache, the context and the sources."""

    token_ids: tuple[int, ...]
    """Tokens delivered, already cut."""
    sources: tuple[str, ...]
    """For each token the source that guessed it; see `Step.sources`."""
    finish: Finish | None
    rows: Rows | None = None
    """The rows of the forward; None for the first token, which is sampled after prefill."""
    row_sources: Sequence[str] = ()
    """The source of each row."""


@dataclass(frozen=True, slots=True)
class Read:
    """Progress of prefilling a prompt in a batch."""

    held: int
    """Tokens of the prompt that are cached now."""
    reused: int
    """Those of them that were cached or copied, not computed for this reply."""
    ms: float = 0.0
    """Time of the forward; if others shared it, the share of these rows."""


@dataclass(frozen=True, slots=True)
class Step:
    """One forward pass as the caller sees it; yielded after everything is committed."""

    token_ids: tuple[int, ...]
    """Tokens delivered by this step, already cut; may be empty in the last one."""
    sources: tuple[str, ...]
    """For each delivered token the name of the source that guessed it, "" if none did."""
    rows: int
    """Rows of the forward; 0 for the step with the first token, which is sampled after prefill."""
    drafted: int
    """Guessed tokens verified in this step: rows that a draw could have accepted."""
    forward_ms: float
    """Time of the forward; if replies shared it, this reply's share, proportional to its rows."""
    draft_ms: float
    """Time of the step outside the forward: proposing, building, accepting, committing and learning."""
    finish: Finish | None = None
    """Set on the last step."""
    drafted_by_source: Mapping[str, int] = field(default_factory=dict)
    """`drafted` by source."""
    plain_ms: float | None = None
    """Estimated time of a plain step in its place; see `ForwardResult`."""
