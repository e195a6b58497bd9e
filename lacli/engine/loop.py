"""The decoding loop: one forward a step over everything guessed, then one decision that all else follows.

`decode` is all of it, top to bottom. Called by `lacli.assistant` and the bench. Ids in, ids out: no text, no files.
What is yielded has been committed, so closing the generator between steps always finds a whole state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from torch import Tensor

from lacli.drafts.base import Draft, DraftSource
from lacli.drafts.jacobi import WindowSource
from lacli.drafts.successor import SUCCESSORS, SuccessorSource
from lacli.engine import tree
from lacli.engine.accept import accept
from lacli.engine.controller import Controller, Plan
from lacli.engine.sampler import Sampler
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Accepted, Finish, Step
from lacli.engine.stop import Stops
from lacli.engine.window import JacobiWindow
from lacli.models.base import Rows


def decode(
    prompt: Sequence[int],
    cached: CachedSequence,
    sources: Sequence[DraftSource],
    sampler: Sampler,
    stops: Stops,
    controller: Controller,
    cancel: Callable[[], bool] = lambda: False,
    on_prefill: Callable[[int, int, int], None] = lambda done, total, reused: None,
) -> Iterator[Step]:
    """Yield the steps of one reply to `prompt`; the last has `finish` set.

    The first step delivers the token that prefill gives (rows 0). `cancel` is read between steps and prefill chunks;
    `on_prefill(done, total, reused)` is told the progress of the prompt. Plain decoding is the same loop with
    `controller.limits.lookahead` off.
    """
    if stops.room <= 0:
        yield Step((), (), 0, 0, 0.0, 0.0, Finish.LENGTH)
        return
    context = list(prompt)
    reused = cached.reusable(prompt)

    def on_chunk(done: int) -> bool:
        on_prefill(done, len(prompt) - reused, reused)
        return not cancel()

    logits = cached.start(prompt, on_chunk)
    if logits is None:
        yield Step((), (), 0, 0, 0.0, 0.0, Finish.CANCELLED)
        return
    guesses = _Guesses(prompt, sources, controller, cached)
    run: tuple[int, ...] = (sampler.draw(logits),)
    cut = stops.cut(run)
    context.extend(run[: cut.keep])
    guesses.start(context)
    finish = cut.finish or _full(cached)
    yield Step(run[: cut.keep], ("",) * cut.keep, 0, 0, 0.0, 0.0, finish)

    while finish is None:
        if cancel():
            yield Step((), (), 0, 0, 0.0, 0.0, Finish.CANCELLED)
            return
        started = time.perf_counter()
        plan = guesses.plan(min(stops.room, cached.runner.context_size - cached.runner.length) - 1)
        rows, row_sources = guesses.build(context, plan)

        forward_started = time.perf_counter()
        logits = cached.runner.forward(rows)
        forward_ms = 1000 * (time.perf_counter() - forward_started)

        accepted = accept(rows, logits, sampler)
        cut = stops.cut(accepted.token_ids)
        kept = accepted.token_ids[: cut.keep]

        cached.keep(rows, accepted.path[: cut.keep])
        context.extend(kept)
        sources_of = _sources_of(accepted, row_sources, cut.keep)
        guesses.learn(rows, logits, kept, sources_of, forward_ms)
        finish = cut.finish or _full(cached)
        draft_ms = 1000 * (time.perf_counter() - started) - forward_ms
        yield Step(kept, sources_of, len(rows.token_ids), _drafted(rows), forward_ms, draft_ms, finish)


def _full(cached: CachedSequence) -> Finish | None:
    return Finish.CONTEXT if cached.runner.length >= cached.runner.context_size else None


def _drafted(rows: Rows) -> int:
    """Rows a draw could be compared with; a window's newest level is wanted for its argmax, but nothing leads there."""
    reached = {0}
    for row in rows.wanted[1:]:
        if rows.parents[row] in reached:
            reached.add(row)
    return len(reached) - 1


def _sources_of(accepted: Accepted, row_sources: Sequence[str], keep: int) -> tuple[str, ...]:
    """Who guessed each kept token: the row after the one it was drawn at, nobody for the bonus token."""
    guessed = [row_sources[row] for row in accepted.path[1:]]
    return (*guessed, "")[:keep]


class _Guesses:
    """Drafts and window of one reply: what goes into a step, and what they learn from it."""

    def __init__(
        self, prompt: Sequence[int], sources: Sequence[DraftSource], controller: Controller, cached: CachedSequence
    ) -> None:
        limits = controller.limits
        active = limits.lookahead and cached.runner.can_branch
        self._vocab_size = cached.runner.vocab_size
        self._controller = controller
        self._sources: list[DraftSource] = list(sources) if active else []
        self._window = JacobiWindow(limits.columns, limits.ngram, prompt) if active and limits.columns > 0 else None
        self._window_source = WindowSource(limits.ngram)
        if self._window is not None:
            self._sources.append(self._window_source)
        self._successors = next((source for source in self._sources if isinstance(source, SuccessorSource)), None)
        self._active = active
        self._drafts: list[tuple[DraftSource, Draft]] = []
        self._newest: list[int] | None = None

    def start(self, context: Sequence[int]) -> None:
        for source in self._sources:
            source.start(context)

    def plan(self, room: int) -> Plan:
        if not self._active:
            return Plan(0, 0, window=False)
        return self._controller.plan(room, self._window.rows_needed if self._window is not None else 0)

    def build(self, context: Sequence[int], plan: Plan) -> tuple[Rows, list[str]]:
        """The rows of this step and who guessed each."""
        controller = self._controller
        self._drafts = []
        if plan.rows > 0:
            for source in self._sources:
                if controller.awake(source.name):
                    self._drafts.extend(
                        (source, draft) for draft in source.propose(context, plan.depth) if draft.token_ids
                    )
            # Stable, so that on equal promise the order of the sources decides.
            self._drafts.sort(key=lambda pair: -sum(pair[1].chances))
            del self._drafts[controller.limits.guesses :]
        window_rows = self._window.rows_needed if plan.window and self._window is not None else 0
        built = tree.build(
            context[-1],
            [draft for _, draft in self._drafts],
            plan.depth,
            self._vocab_size,
            plan.rows,
            lambda chances: controller.buy(chances, 1 + window_rows),
        )
        self._newest = None
        if not plan.window or self._window is None:
            return built.rows(), built.sources
        verified = range(len(built))
        self._newest = self._window.place(built, plan.depth)
        return built.rows([*verified, *self._newest]), built.sources

    def learn(
        self, rows: Rows, logits: Tensor, kept: Sequence[int], sources_of: Sequence[str], forward_ms: float
    ) -> None:
        """Tell everyone what was emitted. A draft is judged by the text even where no row was bought for it."""
        outcomes: dict[str, bool] = {}
        for source, draft in self._drafts:
            if draft.parents:
                continue
            matched = _common(draft.token_ids, kept)
            judged = min(matched + 1, len(draft.token_ids), len(kept))
            if judged:
                source.credit(Draft(draft.token_ids[:judged], draft.chances[:judged], draft.source, draft.key), matched)
                outcomes[source.name] = outcomes.get(source.name, False) or matched > 0
        for source in self._sources:
            source.observe(kept)
        if self._successors is not None:
            best = logits.topk(min(SUCCESSORS, logits.shape[1]), dim=-1).indices.tolist()
            self._successors.learn((rows.token_ids[row] for row in rows.wanted), best)
        window_accepted = None
        if self._newest is not None and self._window is not None and kept:
            slots = {row: slot for slot, row in enumerate(rows.wanted)}
            newest = logits[[slots[row] for row in self._newest]].argmax(dim=-1).tolist()
            self._window_source.learn(self._window.advance(newest, rows.token_ids[0], len(kept)))
            window_accepted = sum(source == "window" for source in sources_of)
        self._controller.learn(len(rows.token_ids), forward_ms, outcomes, window_accepted)


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the longest common prefix."""
    for index, (ours, theirs) in enumerate(zip(left, right, strict=False)):
        if ours != theirs:
            return index
    return min(len(left), len(right))
