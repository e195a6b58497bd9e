"""Drafts and window of one reply: what goes into a step, and what everyone learns from it."""

from __future__ import annotations

from collections.abc import Sequence

from lacli.drafts.base import Draft, DraftSource
from lacli.drafts.jacobi import WindowSource
from lacli.drafts.successor import SuccessorSource
from lacli.engine import tree
from lacli.engine.controller import Controller, Plan
from lacli.engine.sequence import CachedSequence, common
from lacli.engine.window import JacobiWindow
from lacli.models.base import Rows, Scores


class Guesses:
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
        self._window_source = WindowSource()
        if self._window is not None:
            self._sources.append(self._window_source)
        self._successors = next((source for source in self._sources if isinstance(source, SuccessorSource)), None)
        self._active = active
        self._drafts: list[tuple[DraftSource, Draft]] = []
        self._verified = 0
        self._previous = -1
        self._promised: dict[str, float] = {}
        self._newest: list[int] | None = None

    def start(self, context: Sequence[int]) -> None:
        """The reply begins behind `context`."""
        for source in self._sources:
            source.start(context)

    def plan(self, room: int) -> Plan:
        """What the next step may do; room: tokens that still fit below row 0."""
        if not self._active:
            return Plan(0, 0, window=False)
        return self._controller.plan(room, self._window.rows_needed if self._window is not None else 0)

    @property
    def promised(self) -> float:
        """The chances of the rows bought for the last step added up: tokens they are expected to bring."""
        return sum(self._promised.values())

    def build(self, context: Sequence[int], plan: Plan) -> tuple[Rows, list[str]]:
        """The rows of this step and who guessed each."""
        if not self._active:
            return Rows((context[-1],), (-1,), (0,)), [""]
        controller = self._controller
        self._drafts = []
        if plan.rows > 0:
            for source in self._sources:
                if source is not self._successors and controller.awake(source.name):
                    trust = controller.trust(source.name)
                    self._drafts.extend(
                        (source, _trusted(draft, trust))
                        for draft in source.propose(context, plan.depth)
                        if draft.token_ids
                    )
            # Stable, so that on equal promise the order of the sources decides.
            self._drafts.sort(key=lambda pair: -sum(pair[1].chances))
            del self._drafts[controller.limits.guesses :]
        window_rows = self._window.rows_needed if plan.window and self._window is not None else 0
        asked = plan.rows > 0 and self._successors is not None and controller.awake(self._successors.name)
        offer = tree.Offer(
            [draft for _, draft in self._drafts],
            self._successors.follow if asked and self._successors is not None else None,
            self._successors.name if self._successors is not None else "",
            controller.reliability(self._successors.name) if self._successors is not None else 1.0,
        )
        built = tree.build(
            context,
            offer,
            plan.depth,
            self._vocab_size,
            plan.rows,
            controller.least(1 + window_rows),
            lambda chances: controller.buy(chances, 1 + window_rows),
        )
        self._verified = len(built)
        self._promised = {}
        for name, chance in zip(built.sources[1:], built.chances[1:], strict=True):
            self._promised[name] = self._promised.get(name, 0.0) + chance
        self._previous = context[-2] if len(context) > 1 else -1
        self._newest = None
        if not plan.window or self._window is None:
            return built.rows(), built.sources
        verified = range(len(built))
        self._newest = self._window.place(built, plan.depth)
        return built.rows([*verified, *self._newest]), built.sources

    def learn(self, rows: Rows, scores: Scores, kept: Sequence[int], sources_of: Sequence[str]) -> None:
        """Tell everyone what was emitted. A draft is judged by the text even where no row was bought for it."""
        if not self._active:
            return
        outcomes: dict[str, bool] = {}
        for source, draft in self._drafts:
            matched = common(draft.token_ids, kept)
            judged = min(matched + 1, len(draft.token_ids), len(kept))
            if judged:
                source.credit(_cut(draft, judged), matched)
                outcomes[source.name] = outcomes.get(source.name, False) or matched > 0
        for source in self._sources:
            source.observe(kept)
        if self._successors is not None:
            outcomes |= self._teach_successors(self._successors, rows, scores, kept)
        window_accepted = None
        if self._newest is not None and self._window is not None and kept:
            slots = {row: slot for slot, row in enumerate(rows.wanted)}
            firsts = scores.top_ids[:, 0].tolist()
            newest = [firsts[slots[row]] for row in self._newest]
            self._window_source.learn(self._window.advance(newest, rows.token_ids[0], len(kept)))
            window_accepted = sum(source == "window" for source in sources_of)
        self._controller.learn(outcomes, window_accepted)
        brought = {source: sources_of.count(source) for source in self._promised}
        self._controller.settle(self._promised, brought)

    def _teach_successors(
        self, successors: SuccessorSource, rows: Rows, scores: Scores, kept: Sequence[int]
    ) -> dict[str, bool]:
        """Every verified row leaves its top tokens; returns whether the emitted token had been among row 0's."""
        # The tree stands before the window, and all of its rows are wanted. The window's have no text before them.
        best, logits = scores.top_ids[: self._verified].tolist(), scores.top_logits[: self._verified].tolist()
        token_ids, parents = rows.token_ids[: self._verified], rows.parents[: self._verified]
        before = [token_ids[parent] if parent >= 0 else self._previous for parent in parents]
        known = successors.follow(before[0], token_ids[0]) if kept else []
        successors.learn(zip(before, token_ids, strict=True), best, logits)
        return {successors.name: any(follower == kept[0] for follower, _ in known)} if known else {}


def _trusted(draft: Draft, trust: float) -> Draft:
    if trust == 1.0:
        return draft
    chances = tuple([trust * chance for chance in draft.chances])
    return Draft(draft.token_ids, chances, draft.source, draft.key, draft.place)


def _cut(draft: Draft, count: int) -> Draft:
    """The first tokens of a draft."""
    return Draft(draft.token_ids[:count], draft.chances[:count], draft.source, draft.key, draft.place)
