"""The records that pass between the stages of one decoding step. Frozen; ids and counts only, no text."""

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
    """The rows a reply wants to run next, on top of what its sequence holds."""

    rows: Rows
    expected: float
    """Tokens the step is expected to bring: one, and the chances of the guesses among its rows."""


@dataclass(frozen=True, slots=True)
class ForwardResult:
    """The answer to a `ForwardRequest`."""

    scores: Scores
    """Of the wanted rows; valid until the next forward."""
    ms: float
    """Time of the forward; where replies share one, this reply's share by its rows."""
    plain_ms: float | None = None
    """What a forward of one row would have taken just then; None if the cost curve has no times."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the model agreed with in one step, before any stop rule."""

    path: tuple[int, ...]
    """Rows walked, from row 0 down."""
    token_ids: tuple[int, ...]
    """The draw at each row of `path`: all but the last are tokens of the next row, the last is the bonus token."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The one decision on where an accepted run ends."""

    keep: int
    """Tokens of the run that are delivered; an end-of-sequence id is not."""
    finish: Finish | None = None
    """Set when the reply ends here."""


@dataclass(frozen=True, slots=True)
class Committed:
    """What one step has committed to the cache, the context and the sources."""

    token_ids: tuple[int, ...]
    """Tokens delivered, already cut."""
    sources: tuple[str, ...]
    """For each of them who guessed it; see `Step.sources`."""
    finish: Finish | None
    rows: Rows | None = None
    """The rows of the forward; None for the first token, which comes from prefill."""
    row_sources: Sequence[str] = ()
    """Who guessed each of the rows."""


@dataclass(frozen=True, slots=True)
class Read:
    """A part of a prompt was read, in a batch."""

    held: int
    """Tokens of the prompt in the cache now."""
    reused: int
    """Those among them that were not read for this reply."""
    ms: float = 0.0
    """Time of the forward: of one that others shared, what its rows' share of that was."""


@dataclass(frozen=True, slots=True)
class Step:
    """One forward pass as the caller sees it: yielded only after everything is committed."""

    token_ids: tuple[int, ...]
    """Tokens delivered by this step, already cut; may be empty in the last one."""
    sources: tuple[str, ...]
    """For each delivered token who guessed it: a source's name, or "" where the model's own draw was not guessed."""
    rows: int
    """Rows of the forward; 0 for the step that delivers the first token, which comes from prefill."""
    drafted: int
    """Guessed tokens verified in this step (rows that a draw could have been compared with)."""
    forward_ms: float
    """Time of the forward; of one that replies share, this reply's share of the rows."""
    draft_ms: float
    """Time of proposing, building, accepting, committing and learning: the step less the forward."""
    finish: Finish | None = None
    """Set on the last step."""
    drafted_by_source: Mapping[str, int] = field(default_factory=dict)
    """`drafted` by who guessed the token."""
    plain_ms: float | None = None
    """What a plain step would have taken in its place: see `ForwardResult`."""
