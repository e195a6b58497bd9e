"""One reply of a loaded model while it is written: prompt, accepted text, counts, and the update for the pool.

What was accepted is in the pool on disk once the reply has ended, even if its reader went away half way.
"""

from __future__ import annotations

import contextlib
import copy
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from lacli.assistant.base import Cancel, never
from lacli.assistant.prompt import Prompt, build_prompt
from lacli.assistant.tries import MOST_TOKENS, Tokens, Tried
from lacli.errors import LacliError, OutOfMemory
from lacli.events import Event, Finished, Notice, Piece, Prefill, Reason, ReplyStats, Request

if TYPE_CHECKING:
    from lacli.assistant.ahead import Ahead
    from lacli.assistant.loaded import Loaded
    from lacli.assistant.reading import Reading
    from lacli.drafts.base import Sources
    from lacli.engine.batch import Job
    from lacli.engine.sampler import Sampler
    from lacli.engine.sequence import CachedSequence
    from lacli.engine.step import Read, Step
    from lacli.engine.stop import Stops
    from lacli.pool.update import TableRows
    from lacli.text.stops import Watcher

_PREFILL_CHUNK = 256


class Reply:
    """One reply: `begin`, then steps, `leave`, `end`; `events` is all of it for one that is written alone."""

    def __init__(
        self,
        loaded: Loaded,
        request: Request,
        seen_notices: set[str],
        reading: Reading | None = None,
        ahead_n: int = 0,
    ) -> None:
        """seen_notices: notices that were given already; those of this reply are added; reading: what it costs, where
        that is not to be as it is now; ahead_n: for its statistics. Raises PromptTooLong."""
        self._loaded = loaded
        self._seen_notices = seen_notices
        self._request = request
        self._started = time.perf_counter()
        self._prompt: Prompt = build_prompt(
            request,
            loaded.prepared,
            loaded.tokenizer,
            loaded.cached.runner.context_size,
            reading or loaded.reading(),
        )
        self._tried = None
        if request.begins_again:
            self._tried = Tried(self._prompt.fit, self._prompt.complete, request.tried_once)
        self._start_text(copy.deepcopy(self._prompt.watchers) if request.begins_again else self._prompt.watchers)
        self._sampler = self._new_sampler()
        self._forks: Sources | None = None
        self._ids: list[int] = []
        self._sources: list[str] = []
        self._text: list[str] = []
        self._thought: list[str] = []
        self._reason: Literal[Reason, ""] = ""
        self._accepted: Counter[str] = Counter()
        self._drafted: Counter[str] = Counter()
        self._steps = self._rows = self._draft_n = self._plain_steps = self._plain_before = 0
        self._draft_ms = self._step_ms = 0.0
        self._plain_ms: float | None = None
        self._prompt_started = self._first_at = self._last_at = self._started
        self._prompt_n = self._reused_n = 0
        self._ahead_n = ahead_n
        self._read_ms = 0.0
        """Of reading the prompt; in a batch the share of this reply. 0 until it is read."""

    def events(self, cancel: Cancel) -> Iterator[Event]:
        """All events of the reply; whatever ends it, what was accepted goes into the pool."""
        yield from self.begin()
        try:
            for step in self._alone(cancel):
                yield step if isinstance(step, Prefill) else self.take(step)
        finally:
            refresh_files(self._loaded)
            self.leave()
        self.keep_read(self._loaded.cached)
        yield from self.end()

    def begin(self) -> Iterator[Notice]:
        """Notices about the prompt."""
        yield from self._new_notices(self._prompt.notes)
        if self._prompt.dropped:
            yield Notice(dropped_notice(self._prompt.dropped))

    @property
    def loaded(self) -> Loaded:
        """The model and the project it is of."""
        return self._loaded

    def job(self, cancel: Cancel = never) -> Job:
        """For a batch, with draft sources of its own."""
        from lacli.engine.batch import Job

        if self._forks is None:
            self._prompt_started = time.perf_counter()
            self._forks = self._loaded.sources.fork()
            self._predict(self._forks)
        loaded, kept = self._loaded, self._loaded.kept
        job = Job(self._prompt.token_ids, self._forks, self._sampler, self._stops(), loaded.controller, cancel=cancel)
        return job if kept is None else replace(job, restore=kept.restore)

    def read(self, read: Read) -> Prefill:
        """A part of the prompt was read in a batch."""
        if self._tried is None or self._tried.is_first:
            self._prompt_n, self._reused_n = len(self._prompt.token_ids) - read.reused, read.reused
            self._read_ms += read.ms
        return Prefill(read.held - read.reused, len(self._prompt.token_ids) - read.reused, read.reused)

    def take(self, step: Step) -> Piece:
        """Count a step and return the text that it releases."""
        self._count(step)
        new = self._thoughts.push(self._rule.take())
        if step.finish is not None:
            new += self._thoughts.push(self._rule.finish(early=step.finish != "stop")) + self._thoughts.finish()
            self._cut(self._rule.delivered)
            self._reason = step.finish.value
        self._text.append(new.answer)
        self._thought.append(new.thought)
        spelled = (self._spelled.push([token_id]) for token_id in step.token_ids)
        lengths = tuple(len(self._counted.push(text).answer) for text in spelled)
        answer = new.answer
        if self._tried is not None:
            again = step.finish in ("stop", "length") and self._tries_again(self._tried)
            answer = "" if again else self._tried.release("".join(self._text), over=step.finish is not None)
        return Piece(answer, step.sources, self._stats(), lengths, new.thought)

    @property
    def over(self) -> bool:
        """Whether the reply has ended; False after the last step of a try that is repeated."""
        return bool(self._reason)

    def _tries_again(self, tried: Tried) -> bool:
        """A text is written to its end: get ready for another try, if one is wanted, else for what is chosen."""
        text = "".join(self._text)
        if self._reason == "length" and not text.strip():
            return False
        tokens = Tokens(tuple(self._ids), tuple(self._sources))
        again = tried.came(text, tokens, self._sampler.first, self._rule.fired and self._reason == "stop")
        if tried.chosen == text:
            return False
        self._cut(0)
        self._text.clear()
        if again:
            self._plain_before, self._reason = self._plain_steps + 1, ""
            fit, past = self._prompt.fit, tried.now.past
            self._start_text([fit.past(past)] if fit is not None and past else copy.deepcopy(self._prompt.watchers))
            self._sampler = self._new_sampler()
        elif tried.chosen:
            tokens = tried.tokens(tried.chosen, self._loaded.tokenizer.decode)
            self._ids, self._sources = list(tokens.ids), list(tokens.sources)
            self._accepted.update(source for source in tokens.sources if source)
            self._text.append(tried.chosen)
        return again

    def _start_text(self, watchers: Sequence[Watcher]) -> None:
        """Begin a text, which these end, besides what the request says."""
        from lacli.text.stops import StopStrings
        from lacli.text.stream import TextStream
        from lacli.text.thoughts import Thoughts

        opened = self._prompt.opened
        self._rule = StopStrings(self._loaded.tokenizer, watchers=_watchers(self._request.stops, watchers, opened))
        self._thoughts = Thoughts(opened)
        self._spelled, self._counted = TextStream(self._loaded.tokenizer), Thoughts(opened)

    def leave(self) -> None:
        """The reply ends, one way or another: store what was accepted."""
        if not self._reason:  # the reader went away: what was still held back has been seen by nobody
            held = self._tried is not None and self._tried.nothing_shown
            self._cut(0 if held else self._rule.shown)
        if self._forks is not None:
            self._loaded.sources.merge(self._forks)
        self._update_pool()

    def end(self) -> Iterator[Event]:
        """The last events."""
        pool = self._loaded.pool
        if pool is not None:
            yield from self._new_notices(pool.notices)
            pool.notices.clear()
        reason = self._reason or "cancelled"
        dropped, shown = self._prompt.dropped, self._prompt.shown
        text, thought = "".join(self._text), "".join(self._thought).strip()
        known = self._sampler.log_probabilities[: len(self._ids)]
        likelihood = sum(known) / len(known) if known else None
        stats = self._stats(reason)
        yield Finished(text, tuple(self._ids), reason, stats, dropped, shown, thought, likelihood)

    def _alone(self, cancel: Cancel) -> Iterator[Step | Prefill]:
        """Prefill in chunks, so that its progress can be yielded, then the engine's steps."""
        from lacli.engine.loop import decode

        prompt, cached = self._prompt.token_ids, self._loaded.cached
        self._prompt_started = time.perf_counter()
        if self._loaded.kept is not None and self._request.max_tokens > 0:
            self._loaded.kept.restore(cached, prompt)
        self._reused_n = cached.reusable(prompt)
        self._prompt_n = len(prompt) - self._reused_n if self._request.max_tokens > 0 else 0
        self._predict(self._loaded.sources)
        with translated_errors():
            if self._request.max_tokens > 0:
                for end in range(self._reused_n + _PREFILL_CHUNK, len(prompt) - 1, _PREFILL_CHUNK):
                    cached.start(prompt[:end], lambda done: not cancel())
                    yield Prefill(cached.runner.length - self._reused_n, self._prompt_n, self._reused_n)
                    if cancel():
                        return
            while not self._reason:  # a step that is the last sets it, but where the reply begins again
                yield from decode(
                    prompt, cached, self._loaded.sources, self._sampler, self._stops(), self._loaded.controller, cancel
                )

    def _predict(self, sources: Sources) -> None:
        """Tell the source of predictions what is expected of this reply, if anything."""
        from lacli.drafts.lookup import PredictionSource
        from lacli.prompts.content import CHARACTERS_A_TOKEN

        most = self._loaded.cached.runner.context_size  # no reply can follow more of it
        text = self._request.prediction[: most * CHARACTERS_A_TOKEN]
        for source in sources.drafts:
            if isinstance(source, PredictionSource):
                source.expect(self._loaded.tokenizer.encode(text)[:most] if text else ())

    def _new_sampler(self) -> Sampler:
        from lacli.engine.sampler import FirstToken, Sampler, SamplingOptions

        request = self._request
        chosen = None
        if request.beginning is not None:
            chosen = FirstToken(request.beginning, frozenset(self._prompt.eos_ids))
        elif self._tried is not None and self._tried.now.other:
            chosen = FirstToken(0, frozenset((*self._prompt.eos_ids, *self._tried.without)))
        options = SamplingOptions(
            temperature=request.temperature,
            top_k=request.top_k,
            top_p=request.top_p,
            repetition_penalty=request.repetition_penalty,
            seed=request.seed,
        )
        return Sampler(options, self._prompt.token_ids, chosen, request.beginning is not None, self._is_blank)

    def _is_blank(self, token_id: int) -> bool:
        """Whether a token is an indentation or the end of a line: control tokens, which say more, spell nothing."""
        spelled = self._loaded.tokenizer.token_bytes(token_id)
        return bool(spelled) and not spelled.strip()

    def _stops(self) -> Stops:
        from lacli.engine.stop import Stops

        most = self._request.max_tokens
        most = most if self._tried is None or self._tried.is_first else min(most, MOST_TOKENS)
        return Stops(self._prompt.eos_ids, most, self._rule)

    def _new_notices(self, notes: Sequence[str]) -> Iterator[Notice]:
        """Notices about model and pool, each once in the assistant's life, not every turn."""
        for note in notes:
            if note not in self._seen_notices:
                self._seen_notices.add(note)
                yield Notice(note)

    def _count(self, step: Step) -> None:
        now = time.perf_counter()
        self._read_ms = self._read_ms or 1000 * (now - self._prompt_started)
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
        if step.plain_ms is not None:
            self._plain_ms = (self._plain_ms or 0.0) + step.plain_ms
        rule = self._rule
        # An end-of-sequence id was drawn, too, and is no token of the reply.
        unseen = step.finish == "stop" and not rule.fired and len(self._ids) < self._request.max_tokens
        self._plain_steps = self._plain_before + max(0, rule.seen + unseen - 1)

    def _cut(self, delivered: int) -> None:
        """Drop tokens whose text was not delivered: the beginning of a stop string that was then completed."""
        self._accepted.subtract(source for source in self._sources[delivered:] if source)
        del self._ids[delivered:], self._sources[delivered:]

    def keep_read(self, cached: CachedSequence | None) -> None:
        """Have what a KV cache holds of it kept on disk, now that its text is out; a failure is said at the end."""
        kept, pace = self._loaded.kept, self._loaded.pace
        pace.learn(self._prompt_n, self._read_ms)
        if kept is None or cached is None:
            return
        later = self._prompt.later
        shared = None if later is None else later.shared
        ids = (*self._prompt.token_ids, *self._ids) if shared is None else self._prompt.token_ids[:shared]
        kept.keep(cached, ids, self._prompt.text, self._said(), pace.ms_per_token)

    def ahead(self) -> Ahead | None:
        """What could be read behind this reply while nobody waits; None where it was cancelled."""
        from lacli.assistant.ahead import Ahead

        if self._prompt.later is None or self._reason in ("", "cancelled"):
            return None
        return Ahead(self._loaded, self._prompt, self._said())

    def _said(self) -> str:
        """What the model wrote behind the line that it goes on with: the two together may spell a secret."""
        return self._prompt.last_line + self._loaded.tokenizer.decode(self._ids)

    def _update_pool(self) -> None:
        """Store in the pool what this reply said, as far as it was shown, and what the sources learned meanwhile."""
        loaded, pool = self._loaded, self._loaded.pool
        if pool is None or not pool.learns or not self._ids:
            return
        text = self._said()
        from lacli.drafts.lookup import ProjectSource
        from lacli.pool.update import PoolUpdate

        project = loaded.source(ProjectSource)
        pool.learn(
            PoolUpdate(
                token_ids=tuple(self._ids),
                text=text,
                prompt_text=self._prompt.text,
                credits=project.credits() if project is not None else {},
                table=self._table(text, self._prompt.text, self._request.prediction),
                calibration={source.name: source.numbers() for source in loaded.sources.all()},
                totals=self._stats().totals(),
            )
        )

    def _table(self, *texts: str) -> TableRows | None:
        """What the successor table learned from this reply; if a secret is involved, that is forgotten instead."""
        from lacli.drafts.lookup import SessionSource
        from lacli.drafts.successor import SuccessorSource
        from lacli.pool.update import TableRows

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

    def _stats(self, reason: Literal[Reason, ""] = "") -> ReplyStats:
        loaded = self._loaded
        # Over the very steps that were taken, so that what disturbed these speaks neither for guessing nor against it.
        plain_step_ms = self._plain_ms / self._steps if self._plain_ms is not None else None
        accepted = +self._accepted
        return ReplyStats(
            model=loaded.prepared.spec.alias,
            quant=loaded.quant,
            kernel=loaded.cached.runner.kernel,
            replies=min(1, len(self._ids)),
            prompt_n=self._prompt_n,
            reused_n=self._reused_n,
            ahead_n=self._ahead_n,
            shown_n=0 if self._prompt.window is None else self._prompt.window.tokens,
            window_n=0 if self._prompt.window is None else self._prompt.window.whole,
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
            ctx_used=len(self._prompt.token_ids) + len(self._ids),
            ctx_size=loaded.cached.runner.context_size,
            vram_peak_mb=_vram_peak_mb(loaded.device),
            resting=loaded.controller.resting,
            finish_reason=reason,
        )


def _watchers(stops: Sequence[str], watchers: Sequence[Watcher], opened: bool | None) -> list[Watcher]:
    """Every reason to end the reply but its ids. What is merely thought ends nothing."""
    from lacli.text.stops import StopString
    from lacli.text.thoughts import AfterThought

    found = [*map(StopString, dict.fromkeys(stops)), *watchers]
    return found if opened is None else [AfterThought(each, opened) for each in found]


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Errors of a forward as errors of ours."""
    try:
        yield
    except MemoryError:
        raise _out_of_memory() from None
    except RuntimeError as error:
        if "memory" not in str(error).lower():
            raise LacliError(f"the model failed: {str(error).splitlines()[0]}", "repeat with -vv") from error
        raise _out_of_memory() from error


def refresh_files(loaded: Loaded) -> None:
    """Look in the background for files of the project that changed since the last reply."""
    if loaded.files is not None:
        loaded.files.refresh()


def dropped_notice(count: int) -> str:
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
