"""What an assistant is asked and what it yields: all that front ends and bench read. Frozen, JSON-able, no torch."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: str
    """system, user or assistant"""
    text: str
    token_ids: tuple[int, ...] = ()
    """The ids the model wrote, for an assistant's turn; reused as they are, so that the KV cache still matches."""


@dataclass(frozen=True, slots=True)
class Request:
    """One reply asked for. Either `messages`, rendered with the model's chat template, or `text`, fed raw."""

    messages: tuple[Message, ...] = ()
    text: str = ""
    """Raw prompt, no template (completion): what stands before the cursor."""
    suffix: str = ""
    """What stands behind the cursor."""
    max_tokens: int = 512
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stops: tuple[str, ...] = ()
    drop_oldest: bool = False
    """Whether whole oldest turns (or the head of `text`) may be left out, with a notice, to fit into the context."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One line for the user that is not model text (stderr)."""

    text: str
    level: str = "note"
    """note or warning"""


@dataclass(frozen=True, slots=True)
class Loading:
    """The model is being fetched, prepared or loaded."""

    stage: str
    """fetch, check, prepare, wait (for another process that prepares it) or load"""
    done: int = 0
    total: int = 0
    """Bytes or parts; 0 where unknown."""


@dataclass(frozen=True, slots=True)
class Prefill:
    """Prompt tokens processed so far."""

    done: int
    total: int
    reused: int
    """Tokens of the prompt that were still in the KV cache and cost nothing."""


@dataclass(frozen=True, slots=True)
class ReplyStats:
    """Counts of one reply so far; field names follow llama.cpp where it has them."""

    model: str = ""
    prompt_n: int = 0
    """Prompt tokens processed (reused ones not counted)."""
    reused_n: int = 0
    prompt_ms: float = 0.0
    predicted_n: int = 0
    """Tokens delivered."""
    predicted_ms: float = 0.0
    """From the first token to the last."""
    steps: int = 0
    """Forward passes after prefill, every one counted."""
    draft_n: int = 0
    """Guessed tokens really verified."""
    draft_n_accepted: int = 0
    """Delivered tokens that had been guessed; never more than `draft_n`."""
    accepted_by_source: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    """Rows of all forwards together."""
    draft_ms: float = 0.0
    """Time spent outside the forwards: drafting, building, accepting, learning."""
    ttft_ms: float = 0.0
    """From the request to the first token."""
    load_ms: float = 0.0
    import_ms: float = 0.0
    pool_size: int = 0
    """Tokens in the project's pool."""
    ctx_used: int = 0
    ctx_size: int = 0
    vram_peak_mb: float | None = None
    finish_reason: str = ""

    @property
    def tokens_per_step(self) -> float | None:
        """(delivered - 1) / forwards after prefill (design §4); None where there was no such forward."""
        return (self.predicted_n - 1) / self.steps if self.steps and self.predicted_n else None

    @property
    def predicted_per_second(self) -> float | None:
        """Tokens a second after the first one."""
        return (
            1000 * (self.predicted_n - 1) / self.predicted_ms
            if self.predicted_ms > 0 and self.predicted_n > 1
            else None
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """Text released by one step."""

    text: str
    """May be empty while a character or a possible stop string is incomplete."""
    sources: tuple[str, ...]
    """For each token of the step who guessed it, "" where nobody did."""
    stats: ReplyStats


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a reply; always the last event."""

    text: str
    """The whole reply; equal to all pieces joined."""
    token_ids: tuple[int, ...]
    """The ids delivered."""
    reason: str
    """stop, length, context or cancelled"""
    stats: ReplyStats
    dropped: int = 0
    """Messages left out at the front of the request to make it fit."""


Event = Notice | Loading | Prefill | Piece | Finished
