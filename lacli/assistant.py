"""One loaded model that replies: wires model, drafts, pool and text, and turns engine steps into events.

Called by CLI, TUI, bench and server; `scripted.ScriptedAssistant` is its double. What a reply accepted is in the pool
on disk before `Finished` is yielded, and also when the reader closes the iterator half way.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lacli.config import Settings
from lacli.errors import LacliError, OutOfMemory
from lacli.events import Event, Finished, Notice, Piece, Prefill, Preview, ReplyStats, Request
from lacli.scripted import Cancel, Report, ignore, never

if TYPE_CHECKING:
    from lacli.context import Prompt
    from lacli.engine.step import Step
    from lacli.loading import Loaded
    from lacli.models.registry import ModelSpec
    from lacli.pool.lesson import TableRows
    from lacli.text.stops import StopStrings

_PREFILL_CHUNK = 256
_ANY_WORDS = ("Q", "7")
"""Two questions whose first tokens differ: what both prompts begin with, every next one will."""


class Assistant:
    """A model, its cache and its project's pool. For one thread and one reply at a time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loaded: Loaded | None = None
        self._told: set[str] = set()

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`."""
        if self._loaded is None:
            self._spec()
            from lacli.loading import load

            self._loaded = load(self._settings, report)

    def close(self) -> None:
        """See `Replier.close`."""
        if self._loaded is not None:
            self._loaded.close()
        self._loaded = None

    def reply(self, request: Request, cancel: Cancel = never) -> Iterator[Event]:
        """See `Replier.reply`."""
        if request.max_tokens <= 0 and self._loaded is None:
            yield self._nothing()
            return
        early: list[Event] = []
        self.open(early.append)
        yield from early
        assert self._loaded is not None
        yield from _Reply(self._loaded, request, cancel, self._told).events()

    def preview(self, request: Request) -> Preview:
        """See `Replier.preview`."""
        from lacli.context import fitted
        from lacli.loading import describe

        if self._loaded is not None:
            loaded = self._loaded
            prepared, tokenizer, size = loaded.prepared, loaded.tokenizer, loaded.cached.runner.context_size
        else:
            prepared, tokenizer, size = describe(self._settings, ignore)
        prompt = fitted(request, prepared, tokenizer, size)
        notes = (*prompt.notes, *((_left_out(prompt.dropped),) if prompt.dropped else ()))
        unseen = tokenizer.unseen(prompt.text)
        return Preview(prompt.token_ids, tokenizer.spelled(prompt.token_ids), size, notes, unseen)

    def warm(self, request: Request, cancel: Cancel = never) -> None:
        """See `Replier.warm`."""
        self.open()
        assert self._loaded is not None
        loaded = self._loaded
        beginning = _beginning(request, loaded)
        with _failures_named():
            if beginning and loaded.cached.reusable(beginning) < len(beginning) - 1:
                loaded.cached.start(beginning, lambda done: not cancel())

    def _nothing(self) -> Finished:
        """The reply of no tokens, which needs no model, only one that exists."""
        return Finished("", (), "length", ReplyStats(model=self._spec().alias, finish_reason="length"))

    def _spec(self) -> ModelSpec:
        """The model's entry; a folder that holds none is found out here, before torch is imported."""
        from lacli.models.registry import load_registry

        spec = load_registry().resolve(self._settings.model)
        if spec.path is not None and spec.kind == "hf":
            from lacli.models.hf_prepare import look_into

            look_into(spec.path)
        return spec


class _Reply:
    """One reply: its prompt, what was accepted and its counts."""

    def __init__(self, loaded: Loaded, request: Request, cancel: Cancel, told: set[str]) -> None:
        self._loaded = loaded
        self._told = told
        self._request = request
        self._cancel = cancel
        self._ids: list[int] = []
        self._sources: list[str] = []
        self._accepted: Counter[str] = Counter()
        self._drafted: Counter[str] = Counter()
        self._steps = self._rows = self._draft_n = self._plain_steps = 0
        self._draft_ms = self._step_ms = 0.0
        self._started = time.perf_counter()
        self._prompt_started = self._first_at = self._last_at = self._started
        self._prompt_n = self._reused_n = 0

    def events(self) -> Iterator[Event]:
        """All events of the reply; whatever ends it, what was accepted goes into the pool."""
        from lacli.context import fitted
        from lacli.text.stops import StopStrings

        loaded = self._loaded
        prompt = fitted(self._request, loaded.prepared, loaded.tokenizer, loaded.cached.runner.context_size)
        yield from self._said(prompt.notes)
        if prompt.dropped:
            yield Notice(_left_out(prompt.dropped))
        rule = StopStrings(loaded.tokenizer, self._request.stops, prompt.watchers)
        text: list[str] = []
        reason = ""
        try:
            for step in self._steps_of(prompt, rule):
                if isinstance(step, Prefill):
                    yield step
                    continue
                self._count(step, rule)
                if step.finish is None:
                    text.append(rule.take())
                else:
                    text.append(rule.take() + rule.finish(early=step.finish != "stop"))
                    self._cut(rule.delivered)
                    reason = str(step.finish)
                yield Piece(text[-1], step.sources, self._stats(prompt))
        finally:
            if not reason:  # the reader went away: what was still held back has been seen by nobody
                self._cut(rule.shown)
            self._teach(prompt)
        if loaded.pool is not None:
            yield from self._said(loaded.pool.notices)
            loaded.pool.notices.clear()
        reason = reason or "cancelled"
        yield Finished("".join(text), tuple(self._ids), reason, self._stats(prompt, reason), prompt.dropped)

    def _steps_of(self, prompt: Prompt, rule: StopStrings) -> Iterator[Step | Prefill]:
        """Prefill in chunks, so that its progress can be yielded, then the engine's steps."""
        from lacli.engine.loop import decode
        from lacli.engine.sampler import Sampler, SamplingOptions
        from lacli.engine.stop import Stops

        request, cached = self._request, self._loaded.cached
        self._prompt_started = time.perf_counter()
        self._reused_n = cached.reusable(prompt.token_ids)
        self._prompt_n = len(prompt.token_ids) - self._reused_n if request.max_tokens > 0 else 0
        options = SamplingOptions(
            temperature=request.temperature,
            top_k=request.top_k,
            top_p=request.top_p,
            repetition_penalty=request.repetition_penalty,
            seed=request.seed,
        )
        with _failures_named():
            if request.max_tokens > 0:
                for end in range(self._reused_n + _PREFILL_CHUNK, len(prompt.token_ids) - 1, _PREFILL_CHUNK):
                    cached.start(prompt.token_ids[:end], lambda done: not self._cancel())
                    done = cached.runner.length - self._reused_n
                    yield Prefill(done, self._prompt_n, self._reused_n)
                    if self._cancel():
                        return
            yield from decode(
                prompt.token_ids,
                cached,
                self._loaded.sources,
                Sampler(options, prompt.token_ids),
                Stops(prompt.eos_ids, request.max_tokens, rule),
                self._loaded.controller,
                self._cancel,
            )

    def _said(self, notes: Sequence[str]) -> Iterator[Notice]:
        """Notices of what is true of model and pool: once in the assistant's life, not every turn."""
        for note in notes:
            if note not in self._told:
                self._told.add(note)
                yield Notice(note)

    def _count(self, step: Step, rule: StopStrings) -> None:
        now = time.perf_counter()
        if step.token_ids:
            self._first_at = self._first_at if self._ids else now
            self._last_at = now
        self._ids.extend(step.token_ids)
        self._sources.extend(step.sources)
        self._accepted.update(source for source in step.sources if source)
        self._drafted.update(step.drafted_by_source)
        self._steps += step.rows > 0
        self._rows += step.rows
        self._draft_n += step.drafted
        self._draft_ms += step.draft_ms
        self._step_ms += step.draft_ms + step.forward_ms
        # An end-of-sequence id was drawn, too, and is no token of the reply.
        unseen = step.finish == "stop" and not rule.fired and len(self._ids) < self._request.max_tokens
        self._plain_steps = max(0, rule.seen + unseen - 1)

    def _cut(self, delivered: int) -> None:
        """Forget tokens of which no text was delivered: the beginning of a stop string that was then completed."""
        self._accepted.subtract(source for source in self._sources[delivered:] if source)
        del self._ids[delivered:], self._sources[delivered:]

    def _teach(self, prompt: Prompt) -> None:
        """Give the pool what this reply was shown to say, and what the sources learned while it was written."""
        loaded, pool = self._loaded, self._loaded.pool
        if loaded.files is not None:
            loaded.files.refresh()
        if pool is None or not pool.learns or not self._ids:
            return
        text = prompt.last_line + loaded.tokenizer.decode(self._ids)
        from lacli.drafts.lookup import ProjectSource
        from lacli.pool.lesson import Lesson

        project = loaded.source(ProjectSource)
        pool.learn(
            Lesson(
                token_ids=tuple(self._ids),
                text=text,
                prompt_text=prompt.text,
                credits=project.credits() if project is not None else {},
                table=self._table(text, prompt.text),
                calibration={source.name: source.numbers() for source in loaded.sources},
                totals=self._stats(prompt).totals(),
            )
        )

    def _table(self, *texts: str) -> TableRows | None:
        """What the successor table learned from this reply; where a secret was about, it is to know nothing of it."""
        from lacli.drafts.lookup import SessionSource
        from lacli.drafts.successor import SuccessorSource
        from lacli.pool.lesson import TableRows

        successors, pool = self._loaded.source(SuccessorSource), self._loaded.pool
        if successors is None or pool is None:
            return None
        if any(pool.refuse(text) for text in texts):
            successors.forget_changes()
            session = self._loaded.source(SessionSource)
            if session is not None:  # or rows it guesses later would teach the table what this reply said
                session.forget()
            return None
        return TableRows(*successors.changes())

    def _stats(self, prompt: Prompt, reason: str = "") -> ReplyStats:
        loaded = self._loaded
        plain_step_ms = loaded.plain_step_ms
        accepted = +self._accepted
        return ReplyStats(
            model=loaded.prepared.spec.alias,
            quant=loaded.quant,
            kernel=loaded.cached.runner.kernel,
            replies=min(1, len(self._ids)),
            prompt_n=self._prompt_n,
            reused_n=self._reused_n,
            prompt_ms=1000 * (self._first_at - self._prompt_started) if self._ids else 0.0,
            predicted_n=len(self._ids),
            predicted_ms=1000 * (self._last_at - self._first_at),
            steps=self._steps,
            plain_steps=self._plain_steps,
            draft_n=self._draft_n,
            draft_n_accepted=accepted.total(),
            drafted_by_source=dict(self._drafted),
            accepted_by_source=dict(accepted),
            rows=self._rows,
            draft_ms=self._draft_ms,
            step_ms=self._step_ms,
            saved_ms=None if plain_step_ms is None else self._plain_steps * plain_step_ms - self._step_ms,
            plain_step_ms=plain_step_ms,
            ttft_ms=1000 * (self._first_at - self._started) if self._ids else 0.0,
            load_ms=loaded.load_ms,
            import_ms=loaded.import_ms,
            pool_size=loaded.pool.size if loaded.pool is not None else 0,
            ctx_used=len(prompt.token_ids) + len(self._ids),
            ctx_size=loaded.cached.runner.context_size,
            vram_peak_mb=_vram_peak_mb(loaded.device),
            finish_reason=reason,
        )


def _beginning(request: Request, loaded: Loaded) -> Sequence[int]:
    """The ids that the request begins with whatever the words of its last message, a question, turn out to be."""
    from lacli.context import fitted

    *before, question = request.messages
    one, other = (
        fitted(
            replace(request, messages=(*before, replace(question, text=words))),
            loaded.prepared,
            loaded.tokenizer,
            loaded.cached.runner.context_size,
        ).token_ids
        for words in _ANY_WORDS
    )
    common = next((index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return one[:common]


@contextlib.contextmanager
def _failures_named() -> Iterator[None]:
    """What a forward may fail of, as our errors."""
    try:
        yield
    except MemoryError:
        raise _out_of_memory() from None
    except RuntimeError as error:
        if "memory" not in str(error).lower():
            raise LacliError(f"the model failed: {str(error).splitlines()[0]}", "repeat with -vv") from error
        raise _out_of_memory() from error


def _left_out(count: int) -> str:
    return f"the oldest {count} messages no longer fit into the context and were left out"


def _vram_peak_mb(device: str) -> float | None:
    if device != "cuda":
        return None
    import torch

    return round(torch.cuda.max_memory_allocated() / 2**20, 1)


def _out_of_memory() -> OutOfMemory:
    return OutOfMemory(
        "the reply does not fit into memory", "use a shorter prompt, a smaller model or a stronger --quant"
    )
