"""One reply of a loaded model while it is written: prompt, accepted text, counts, and the update for the pool.

What was accepted is in the pool on disk once the reply has ended, even if its reader went away half way.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Literal

from lacli.assistant.base import Cancel, never
from lacli.assistant.failures import translated_errors
from lacli.assistant.prompt import Prompt, build_prompt
from lacli.assistant.tally import Tally
from lacli.assistant.teaching import teach
from lacli.assistant.tries import MOST_TOKENS, Tried
from lacli.events import Counts, Event, Finished, Notice, Piece, Prefill, Reason, ReplyStats, Request

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
    from lacli.text.stops import Watcher

_PREFILL_CHUNK = 256
_COUNTS = tuple(each.name for each in fields(Counts))


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
        self._tally = Tally()
        self._text: list[str] = []
        self._thought: list[str] = []
        self._reason: Literal[Reason, ""] = ""
        self._prompt_started = self._started
        self._first_at = 0.0
        """When the first token of all was there."""
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
            self._tally.cut(self._rule.delivered)
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
        again = tried.came(text, self._tally, self._sampler.first, self._rule.fired and self._reason == "stop")
        if tried.chosen == text:
            return False
        self._text.clear()
        if again:
            self._tally, self._reason = Tally(), ""
            fit, past = self._prompt.fit, tried.now.past
            self._start_text([fit.past(past)] if fit is not None and past else copy.deepcopy(self._prompt.watchers))
            self._sampler = self._new_sampler()
        else:
            self._tally = tried.delivered(tried.chosen or "", self._loaded.tokenizer.decode)
            self._text.append(tried.chosen or "")
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
            self._tally.cut(0 if held else self._rule.shown)
        if self._forks is not None:
            self._loaded.sources.merge(self._forks)
        teach(self._loaded, self._request, self._prompt, self._tally)

    def end(self) -> Iterator[Event]:
        """The last events."""
        pool = self._loaded.pool
        if pool is not None:
            yield from self._new_notices(pool.notices)
            pool.notices.clear()
        reason = self._reason or "cancelled"
        dropped, shown = self._prompt.dropped, self._prompt.shown
        text, thought = "".join(self._text), "".join(self._thought).strip()
        known = self._sampler.log_probabilities[: len(self._tally.ids)]
        likelihood = sum(known) / len(known) if known else None
        stats = self._stats(reason)
        yield Finished(text, tuple(self._tally.ids), reason, stats, dropped, shown, thought, likelihood)

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
        tally, rule = self._tally, self._rule
        tally.count(step)
        self._first_at = self._first_at or tally.first_at
        # An end-of-sequence id was drawn, too, and is no token of the reply.
        unseen = step.finish == "stop" and not rule.fired and len(tally.ids) < self._request.max_tokens
        tally.plain_steps = max(0, rule.seen + unseen - 1)

    def keep_read(self, cached: CachedSequence | None) -> None:
        """Have what a KV cache holds of it kept on disk, now that its text is out; a failure is said at the end."""
        kept, pace = self._loaded.kept, self._loaded.pace
        pace.learn(self._prompt_n, self._read_ms)
        if kept is None or cached is None:
            return
        later = self._prompt.later
        shared = None if later is None else later.shared
        ids = (*self._prompt.token_ids, *self._tally.ids) if shared is None else self._prompt.token_ids[:shared]
        kept.keep(cached, ids, self._prompt.text, self._said(), pace.ms_per_token)

    def ahead(self) -> Ahead | None:
        """What could be read behind this reply while nobody waits; None where it was cancelled."""
        from lacli.assistant.ahead import Ahead

        if self._prompt.later is None or self._reason in ("", "cancelled"):
            return None
        return Ahead(self._loaded, self._prompt, self._said())

    def _said(self) -> str:
        """What the model wrote behind the line that it goes on with: the two together may spell a secret."""
        return self._prompt.last_line + self._loaded.tokenizer.decode(self._tally.ids)

    def _stats(self, reason: Literal[Reason, ""] = "") -> ReplyStats:
        loaded = self._loaded
        tally, window = self._tally, self._prompt.window
        counts = tally.counts
        return ReplyStats(
            **{name: getattr(counts, name) for name in _COUNTS},
            given_up_n=0 if self._tried is None else self._tried.given_up(tally),
            model=loaded.prepared.spec.alias,
            quant=loaded.quant,
            kernel=loaded.cached.runner.kernel,
            prompt_n=self._prompt_n,
            reused_n=self._reused_n,
            ahead_n=self._ahead_n,
            shown_n=0 if window is None else window.tokens,
            window_n=0 if window is None else window.whole,
            prompt_ms=1000 * (self._first_at - self._prompt_started) if tally.ids else 0.0,
            predicted_ms=1000 * (tally.last_at - tally.first_at),
            plain_step_ms=tally.plain_step_ms,
            ttft_ms=1000 * (tally.first_at - self._started) if tally.ids else 0.0,
            load_ms=loaded.load_ms,
            import_ms=loaded.import_ms,
            pool_size=loaded.pool.size if loaded.pool is not None else 0,
            ctx_used=len(self._prompt.token_ids) + len(tally.ids),
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
