"""Decodes one prompt of the bench in one mode, with the engine's own loop.

Only the model and its settings come from `lacli.assistant.loading`; the user's pool is neither read nor written.
`report` makes tables of what is returned.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lacli.assistant.loaded import Loaded
from lacli.assistant.prompt import build_prompt
from lacli.bench.loops import LoopStop
from lacli.bench.modes import COLD, PLAIN, Mode, Warmth
from lacli.bench.oracle import ReferenceRunner
from lacli.bench.suites import Case, library_sources
from lacli.drafts.base import Sources, StaticFollowers
from lacli.drafts.successor import SuccessorTable
from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from lacli.engine.loop import decode
from lacli.engine.sampler import Sampler
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Step
from lacli.engine.stop import Stops
from lacli.events import Message, Request
from lacli.models.base import Runner

_FILLED_REPLY = 64
_FILLED_MARGIN = 96  # for the chat template, and for text that gives more ids than it was made of


@dataclass(frozen=True, slots=True)
class Task:
    """A case as this model sees it."""

    case: Case
    prompt: tuple[int, ...]
    eos_ids: tuple[int, ...]
    reference: tuple[int, ...]
    """The ids of the reply that is forced; () where the model answers by itself."""
    room: int = 0
    """Most tokens of the reply where that is fewer than the bench allows; 0 where it is not."""


@dataclass(frozen=True, slots=True)
class Run:
    """One reply in one mode."""

    case: str
    suite: str
    mode: str
    token_ids: tuple[int, ...]
    steps: int
    """Forwards after prefill."""
    rows: int
    """Rows of all of them."""
    drafted: int
    """Guessed tokens verified."""
    accepted: dict[str, int]
    """Delivered tokens by who guessed them."""
    prefill_ms: float
    """Until the first token; only a case's first run prefills the whole prompt."""
    decode_ms: float
    """From the first token to the last."""
    forward_ms: float
    draft_ms: float
    looped: float = 0.0
    """Share of the full reply that was left out because it goes round in circles."""
    twins: int = 0
    """Other prompts kept out of the pool because they, or their replies, are nearly the same."""

    @property
    def tokens_per_step(self) -> float | None:
        """(delivered - 1) / forwards after prefill; None where there was none."""
        return (len(self.token_ids) - 1) / self.steps if self.steps and self.token_ids else None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens a second after the first one."""
        return 1000 * (len(self.token_ids) - 1) / self.decode_ms if self.steps and self.token_ids else None

    @property
    def rows_per_step(self) -> float | None:
        """Mean rows of a forward."""
        return self.rows / self.steps if self.steps else None

    @property
    def drafting_share(self) -> float | None:
        """Share of the step time spent outside the forward."""
        return self.draft_ms / (self.draft_ms + self.forward_ms) if self.steps else None


class Player(ABC):
    """Plays a task in a mode under a budget; where the logits come from is the subclass's."""

    vocab_size: int
    """Ids there are."""
    primer: SuccessorTable | None
    """What every process's successor table begins with."""
    ngrams: StaticFollowers | None
    """What it asks besides."""

    def __init__(self, limits: Limits, max_tokens: int, rows: int | None) -> None:
        """rows: so many rows are free and no more are allowed; None buys them by the measured cost."""
        self.limits = replace(limits, lookahead=True, max_rows=rows or limits.max_rows)
        self._max_tokens = max_tokens

    @abstractmethod
    def task(self, case: Case) -> Task:
        """Turn a case into ids. Raises PromptTooLong where it does not fit."""

    @abstractmethod
    def cached(self, task: Task) -> CachedSequence:
        """An empty cache for the runs of one task."""

    @abstractmethod
    def encode(self, text: str) -> Sequence[int]:
        """The ids of a text."""

    @abstractmethod
    def cost(self) -> CostCurve:
        """What rows are bought by, as a reply begins."""

    def reply(self, task: Task, cached: CachedSequence) -> tuple[int, ...]:
        """What plain decoding delivers, loops and all."""
        return self.play(task, PLAIN, cached, stop_loops=False).token_ids

    def forward_ms(self, step: Step) -> float:
        """Time of a step's forward."""
        return step.forward_ms

    def play(
        self,
        task: Task,
        mode: Mode,
        cached: CachedSequence,
        pool: Warmth = COLD,
        stop_loops: bool = True,
    ) -> Run:
        """One reply, with a controller and sources that know nothing yet but `pool`."""
        return self.play_with(task, mode, cached, mode.sources(pool, self.primer, self.ngrams), stop_loops)

    def play_with(
        self, task: Task, mode: Mode, cached: CachedSequence, sources: Sources, stop_loops: bool = True
    ) -> Run:
        """One reply with these sources, which learn from it."""
        rule = LoopStop() if stop_loops and not task.reference else None
        # A forced reply ends with its own end-of-sequence token.
        room = len(task.reference) + 1 if task.reference else task.room or self._max_tokens
        started = first = last = time.perf_counter()
        token_ids: list[int] = []
        counts: Counter[str] = Counter()
        accepted: Counter[str] = Counter()
        forward_ms = draft_ms = measured_ms = 0.0
        for step in decode(
            task.prompt,
            cached,
            sources,
            Sampler(mode.options, task.prompt),
            Stops(task.eos_ids, room, rule),
            Controller(self.cost(), mode.limits(self.limits)),
        ):
            last = time.perf_counter()
            first = last if step.rows == 0 else first
            token_ids.extend(step.token_ids)
            counts.update(steps=int(step.rows > 0), rows=step.rows, drafted=step.drafted)
            accepted.update(source for source in step.sources if source)
            forward_ms += self.forward_ms(step)
            draft_ms += step.draft_ms
            measured_ms += step.forward_ms
        return Run(
            case=task.case.name,
            suite=task.case.suite,
            mode=mode.name,
            token_ids=tuple(token_ids),
            steps=counts["steps"],
            rows=counts["rows"],
            drafted=counts["drafted"],
            accepted=dict(accepted),
            prefill_ms=1000 * (first - started),
            decode_ms=1000 * (last - first) + forward_ms - measured_ms,
            forward_ms=forward_ms,
            draft_ms=draft_ms,
        )


class Bench(Player):
    """A loaded model."""

    def __init__(self, loaded: Loaded, max_tokens: int, rows: int | None = None, forced: bool = True) -> None:
        """rows: see `Player`.

        forced: whether edit-ref replies are forced; they then run to their end whatever `max_tokens` says.
        """
        super().__init__(loaded.controller.limits, max_tokens, rows)
        self._loaded = loaded
        self._forced = forced
        self._points = None if rows else loaded.controller.cost.points
        self._buckets = loaded.controller.cost.buckets
        self.primer, self.ngrams = loaded.primer, loaded.ngrams

    @property
    def runner(self) -> Runner:
        """The model."""
        return self._loaded.cached.runner

    @property
    def vocab_size(self) -> int:  # type: ignore[override]
        """Ids the model knows."""
        return self.runner.vocab_size

    def task(self, case: Case) -> Task:
        """See `Player.task`."""
        loaded = self._loaded
        reference = tuple(loaded.tokenizer.encode(case.reply)) if case.reply and self._forced else ()
        room = min(_FILLED_REPLY, self._max_tokens) if case.filled else 0
        text = self._filled(case, room) + case.prompt
        request = Request(messages=(Message("user", text),), max_tokens=len(reference) or room or self._max_tokens)
        prompt = build_prompt(request, loaded.prepared, loaded.tokenizer, self.runner.context_size)
        return Task(case, prompt.token_ids, prompt.eos_ids, reference, room)

    def _filled(self, case: Case, room: int) -> str:
        """What stands before the prompt of a case that is to be long."""
        tokens = min(case.filled, self.runner.context_size - room) - len(self.encode(case.prompt)) - _FILLED_MARGIN
        if not case.filled or tokens <= 0:
            return ""
        filling: list[int] = []
        for text in library_sources():
            filling += self.encode(text)
            if len(filling) >= tokens:
                break
        return self._loaded.tokenizer.decode(filling[:tokens]) + "\n\n"

    def cached(self, task: Task) -> CachedSequence:
        """See `Player.cached`."""
        if task.reference:
            return CachedSequence(ReferenceRunner(self.runner, task.prompt, task.reference, task.eos_ids[0]))
        return CachedSequence(self.runner)

    def encode(self, text: str) -> Sequence[int]:
        """See `Player.encode`."""
        return self._loaded.tokenizer.encode(text)

    def cost(self) -> CostCurve:
        """See `Player.cost`."""
        return CostCurve(self._points, buckets=self._buckets) if self._points else CostCurve.flat()
