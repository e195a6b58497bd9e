"""What an assistant is asked and what it yields: all that front ends and bench read. Frozen, JSON-able, no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["system", "user", "assistant"]
Scope = Literal["", "line", "block", "file"]
Part = Literal["", "head", "middle", "tail"]
Level = Literal["note", "warning"]
Stage = Literal["fetch", "check", "unpack", "prepare", "wait", "prime", "load"]
"""Of getting a model ready: a download is fetched, checked against its hash and unpacked; weights are prepared, or
another process that prepares them is waited for; the first guesses are learned (prime); the rest is load."""
Reason = Literal["stop", "length", "context", "cancelled", "timeout"]
"""Why a reply ended; timeout is a cancel by the clock, which only front ends tell apart."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """Content that goes with a message or a completion: a file, a part of one, what was piped in."""

    label: str
    """What it is shown as: a path, `stdin`."""
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    text: str
    """The words; of a question what stands behind its attachments, which a cut never touches."""
    token_ids: tuple[int, ...] = ()
    """The ids the model wrote, for an assistant's turn; reused as they are, so that the KV cache still matches."""
    attachments: tuple[Attachment, ...] = ()
    """Content the words are about, shown before them in this order."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a completion goes: fed raw, without the chat template."""

    prefix: str
    """What stands before the cursor, with \\n line ends."""
    suffix: str = ""
    """What stands behind it."""
    path: str = ""
    """The file's name relative to its project; tells the language, and the model what it is in. Empty: unknown."""
    language: str = ""
    """Its language, where the name does not tell it."""
    project: str = ""
    """The project's name, for models that are told which repository a file is of."""
    lines_before: int = 256
    """Most lines before the cursor that the model is shown; the rest only helps to judge where a completion ends."""
    lines_after: int = 64
    """The same of those behind it."""
    read_ms: int = 0
    """What reading may take, in milliseconds: so much is shown, and what was read before; 0 is no bound."""
    scope: Scope = ""
    """Where it must end at the latest; empty is wherever the model ends."""
    max_lines: int = 0
    """Most lines; 0 is no bound."""
    context: tuple[Attachment, ...] = ()
    """Pieces of other files, in a stable order, so that the KV cache still matches."""
    named: int = 0
    """So many of these, the first, were asked for by name, and are shown whatever it takes to read them."""
    boundary: str = ""
    """What a line has that is beyond what is completed: the next cell of a notebook."""


@dataclass(frozen=True, slots=True)
class Request:
    """One reply asked for: to `messages`, rendered with the model's chat template, or at a `place` where one is set, or
    to what is given `raw`."""

    messages: tuple[Message, ...] = ()
    place: Place | None = None
    raw: str = ""
    """A whole prompt, whose control tokens steer the model: whoever asks has rendered it. The model continues it."""
    raw_ids: tuple[int, ...] = ()
    """The same as ids."""
    max_tokens: int = 512
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stops: tuple[str, ...] = ()
    drop_oldest: bool = False
    """Whether whole oldest turns (or what is far from the cursor) may be left out, with a notice, to fit."""
    truncate: Part = ""
    """The part of the last question's attachments (of its words, where it has none) that may be
    left out, with a notice, to fit into the context; empty: refused instead."""
    rewrites: str = ""
    """A text that the reply is to give again, changed, in a code block: it ends with that block."""
    prediction: str = ""
    """A text that the reply will much resemble: guesses are read off it, and nothing else depends on it."""
    one_block: bool = False
    """Whether the reply ends with its first code block."""
    begun: str = ""
    """Text that the model is made to start its reply with; it is no part of the reply's text."""
    begins_again: bool = False
    """Whether a completion of which its rules leave nothing, or with which the file does not parse, is written anew:
    begun with the likeliest other token, or cut elsewhere. See `lacli.assistant.tries`."""
    tried_once: bool = False
    """Whether that ends with the first text that is not blank, for editors that ask with each key: if the file does not
    parse with it, it is mended without decoding more, or nothing is inserted."""
    may_be_refused: bool = False
    """Whether whoever asked checks the text and may refuse it, which is known only after the project's totals have been
    written: those then claim nothing saved by it."""
    beginning: int | None = None
    """For several replies to one request that must differ: the rank, from 0, of the first token. None: the first token
    is drawn like every other."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The prompt of a request as the model would be given it; made without loading the model."""

    token_ids: tuple[int, ...]
    text: str
    """The same, spelled out, control tokens included."""
    ctx_size: int
    """0 where a remote does not tell."""
    notes: tuple[str, ...] = ()
    """What would be said of it."""
    unseen: str = ""
    """Characters of what was asked that the vocabulary lacks: the model neither sees nor writes them."""
    thinks: bool = False
    """Whether the model may think before it answers, which takes tokens, too."""
    shown_n: int = 0
    """Of a completion with `Place.read_ms`: tokens around the cursor that are shown."""
    window_n: int = 0
    """The same if reading took no time; 0 where reading has no bound."""
    reused_n: int = 0
    """Tokens of the prompt that were read before."""
    has_bos: bool = False
    """Whether the first id is the mark that opens every text, which nobody asked for."""
    estimated_n: int = 0
    """About how many tokens the prompt has, where a remote's tokenizer is not known here: then there are no ids."""

    @property
    def size(self) -> int:
        """Tokens of the prompt."""
        return self.estimated_n or len(self.token_ids)


@dataclass(frozen=True, slots=True)
class Notice:
    """One line for the user that is not model text (stderr)."""

    text: str
    level: Level = "note"


@dataclass(frozen=True, slots=True)
class Loading:
    """The model is being fetched, prepared or loaded."""

    stage: Stage
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
class Counts:
    """What decoding took and what guessing brought to it, of one reply or of many together.

    The numbers of `--stats`, `/stats` and `pool info`: all three show these and get them from here.
    """

    replies: int = 0
    """Replies of at least one token."""
    predicted_n: int = 0
    """Tokens delivered; what came behind a stop is not counted anywhere."""
    steps: int = 0
    """Forward passes after prefill, every one counted."""
    plain_steps: int = 0
    """Forward passes plain decoding takes for the same text: one for each token drawn after the first."""
    draft_n: int = 0
    """Guessed tokens really verified."""
    draft_n_accepted: int = 0
    """Delivered tokens that had been guessed; never more than `draft_n`."""
    drafted_by_source: dict[str, int] = field(default_factory=dict)
    """`draft_n` by who guessed."""
    accepted_by_source: dict[str, int] = field(default_factory=dict)
    """`draft_n_accepted` by who guessed."""
    rows: int = 0
    """Rows of all forwards together."""
    draft_ms: float = 0.0
    """Time of the steps spent outside the forwards: drafting, building, accepting, learning."""
    step_ms: float = 0.0
    """Time of all steps: `draft_ms` and the forwards."""
    saved_ms: float | None = None
    """`plain_steps` by the measured time of a plain step, less `step_ms`; below 0 where guessing cost more than it
    brought. None where no plain step was measured, as without lookahead."""
    untold_n: int = 0
    """Tokens after the first of replies by a remote that does not tell its steps: no part of tokens per step."""

    @property
    def tokens_per_step(self) -> float | None:
        """(delivered - 1) / forwards after prefill (design §4); None where there was no such forward."""
        known = self.predicted_n - self.replies - self.untold_n
        return known / self.steps if self.steps and self.predicted_n else None

    @property
    def saved_n(self) -> int:
        """Forward passes saved against plain decoding."""
        return self.plain_steps - self.steps

    @property
    def rows_bought(self) -> int:
        """Rows beyond the one that every forward has: guesses to verify, and the window's."""
        return self.rows - self.steps

    @property
    def drafting_share(self) -> float | None:
        """Share of the step time spent outside the forwards."""
        return self.draft_ms / self.step_ms if self.step_ms > 0 else None

    def __add__(self, other: Counts) -> Counts:
        """Both together."""
        known = [each for each in (self.saved_ms, other.saved_ms) if each is not None]
        return Counts(
            replies=self.replies + other.replies,
            predicted_n=self.predicted_n + other.predicted_n,
            steps=self.steps + other.steps,
            plain_steps=self.plain_steps + other.plain_steps,
            draft_n=self.draft_n + other.draft_n,
            draft_n_accepted=self.draft_n_accepted + other.draft_n_accepted,
            drafted_by_source=_summed(self.drafted_by_source, other.drafted_by_source),
            accepted_by_source=_summed(self.accepted_by_source, other.accepted_by_source),
            rows=self.rows + other.rows,
            draft_ms=self.draft_ms + other.draft_ms,
            step_ms=self.step_ms + other.step_ms,
            saved_ms=sum(known) if known else None,
            untold_n=self.untold_n + other.untold_n,
        )

    def totals(self) -> dict[str, float]:
        """As a pool keeps them: numbers that may be added up key by key. `of_totals` reads them."""
        sources = {f"drafted.{name}": count for name, count in self.drafted_by_source.items()}
        sources |= {f"accepted.{name}": count for name, count in self.accepted_by_source.items()}
        known = {} if self.saved_ms is None else {"saved_ms": self.saved_ms}
        known |= {"untold": self.untold_n} if self.untold_n else {}
        return {
            "replies": self.replies,
            "tokens": self.predicted_n,
            "steps": self.steps,
            "saved_steps": self.saved_n,
            "rows": self.rows,
            "drafted": self.draft_n,
            "draft_ms": self.draft_ms,
            "step_ms": self.step_ms,
            **known,
            **sources,
        }

    @staticmethod
    def of_totals(totals: Mapping[str, float]) -> Counts:
        """What `totals` gave, added up or not; keys it does not know are left alone."""
        whole = {key: round(value) for key, value in totals.items() if math.isfinite(value)}
        accepted = _named("accepted.", whole)
        saved_ms = totals.get("saved_ms")
        return Counts(
            replies=whole.get("replies", 0),
            predicted_n=whole.get("tokens", 0),
            steps=whole.get("steps", 0),
            plain_steps=whole.get("steps", 0) + whole.get("saved_steps", 0),
            draft_n=whole.get("drafted", 0),
            draft_n_accepted=sum(accepted.values()),
            drafted_by_source=_named("drafted.", whole),
            accepted_by_source=accepted,
            rows=whole.get("rows", 0),
            draft_ms=totals.get("draft_ms", 0.0),
            step_ms=totals.get("step_ms", 0.0),
            saved_ms=saved_ms if saved_ms is None or math.isfinite(saved_ms) else None,
            untold_n=whole.get("untold", 0),
        )


def _summed(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in (*left, *right)}


def _named(prefix: str, totals: Mapping[str, int]) -> dict[str, int]:
    return {key.removeprefix(prefix): value for key, value in totals.items() if key.startswith(prefix)}


@dataclass(frozen=True, slots=True)
class ReplyStats(Counts):
    """Counts of one reply so far; field names follow llama.cpp where it has them.

    Of a reply written beside others: `steps` are the forwards it took part in, `rows` its own rows of them, `step_ms`
    its share of their time by its rows and all of its own drafting, so that the replies' add up to what the batch took;
    `saved_ms` is then what sharing saved, too.
    `prompt_ms`, `predicted_ms` and `ttft_ms` are by the clock on the wall, and so cover the work on the others, too.
    """

    replies: int = 1
    given_up_n: int = 0
    """Tokens of other texts, which were written and given up: tries of a completion, refused answers of an edit. They
    are in no count."""
    model: str = ""
    quant: str = ""
    kernel: str = ""
    """What multiplied: an instruction set of our C kernels, or torch."""
    prompt_n: int = 0
    """Prompt tokens processed (reused ones not counted)."""
    reused_n: int = 0
    ahead_n: int = 0
    """Tokens that were read ahead since the reply before, while nobody waited."""
    shown_n: int = 0
    """Of a completion with `Place.read_ms`: tokens around the cursor that were shown."""
    window_n: int = 0
    """The same if reading took no time; 0 where reading had no bound."""
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0
    """From the first token to the last, the reader's time included."""
    plain_step_ms: float | None = None
    """T(1), what forwards of one row would have taken in place of this reply's, on average: their own times by the
    measured T(1) / T(M), so never more than a step took. None before the first step, and where T was not measured."""
    ttft_ms: float = 0.0
    """From the request to the first token."""
    load_ms: float = 0.0
    import_ms: float = 0.0
    pool_size: int = 0
    """Tokens in the project's pool."""
    ctx_used: int = 0
    ctx_size: int = 0
    vram_peak_mb: float | None = None
    resting: tuple[str, ...] = ()
    """Who is not asked for a while: sources that kept guessing wrong, and the window where its rows would cost more
    than they bring."""
    untold: tuple[str, ...] = ()
    """Fields that a remote does not tell: they are 0 here, and shown as n/a."""
    finish_reason: Literal[Reason, ""] = ""
    """Empty before the end."""

    @property
    def predicted_per_second(self) -> float | None:
        """Tokens a second after the first one."""
        return (
            1000 * (self.predicted_n - self.replies) / self.predicted_ms
            if self.predicted_ms > 0 and self.predicted_n > self.replies
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
    lengths: tuple[int, ...] = ()
    """For each token of the step how many characters of the reply it completes. `text` may lag behind them, and ends
    before them where the reply was cut; of a completion they also count what was left out at its front."""
    thought: str = ""
    """What the model thought before it answers; never part of `text`, nor of `lengths`."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a reply; always the last event."""

    text: str
    """The whole reply; equal to all pieces joined."""
    token_ids: tuple[int, ...]
    """The ids delivered."""
    reason: Reason
    stats: ReplyStats
    dropped: int = 0
    """Messages left out at the front of the request to make it fit."""
    shown: Message | None = None
    """The last question as the model saw it, where a part of it had to be left out; a conversation goes on with it."""
    thought: str = ""
    """What the model thought before it answered. Its ids are among `token_ids`, its text is not in `text`."""
    likelihood: float | None = None
    """The mean log probability of its tokens, where `Request.beginning` chose the first one."""


@dataclass(frozen=True, slots=True)
class Failed:
    """One reply of many cannot be written; the others go on. Its last event."""

    message: str
    hint: str
    exit_code: int
    """Of the program, where this is all there was to do."""


Event = Notice | Loading | Prefill | Piece | Finished
