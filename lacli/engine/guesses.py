"""What is guessed in one reply: the rows of a step from drafts, followers and window, and what all of them learn from
its outcome. Knows the sources by their contracts only."""

from __future__ import annotations

from collections.abc import Sequence

from lacli.drafts.base import TAIL, Draft, DraftSource, FollowerSource, GuessSource, Sources
from lacli.engine import tree
from lacli.engine.controller import Controller, Plan
from lacli.engine.sequence import CachedSequence, common
from lacli.engine.window import LookaheadWindow
from lacli.models.base import BucketedRunner, Rows, Scores


class Guesses:
    """Sources and window of one reply; does nothing where lookahead is off or the runner cannot branch."""

    def __init__(self, prompt: Sequence[int], sources: Sources, controller: Controller, cached: CachedSequence) -> None:
        limits = controller.limits
        active = limits.lookahead and cached.runner.can_branch
        given = sources if active else Sources()
        self._active = active
        self._vocab_size = cached.runner.vocab_size
        self._controller = controller
        runner = cached.runner
        self._chain = isinstance(runner, BucketedRunner) and runner.chains_only
        opens = active and limits.columns > 0 and not self._chain  # its rows hang beside the chain
        self._window = LookaheadWindow(limits.columns, limits.ngram, prompt) if opens else None
        window = (self._window.source,) if self._window is not None else ()
        self._draft_sources: tuple[DraftSource, ...] = (*given.drafts, *window)
        self._follower = given.follower
        self._all: tuple[GuessSource, ...] = (*given.all(), *window)
        # Of the step in progress:
        self._drafts: list[tuple[DraftSource, Draft]] = []
        self._follower_asked = False
        self._verified = 0
        self._tail: tuple[int, ...] = ()
        self._expected: dict[str, float] = {}

    def start(self, context: Sequence[int]) -> None:
        """The reply begins after `context`."""
        for source in self._all:
            source.start(context)

    def plan(self, room: int) -> Plan:
        """What the next step may do; room: tokens that still fit below row 0."""
        if not self._active:
            return Plan(0, 0, window=False)
        return self._controller.plan(room, self._window.rows_needed if self._window is not None else 0)

    @property
    def expected(self) -> float:
        """Tokens that the rows bought for the step in progress are expected to bring: their summed chances."""
        return sum(self._expected.values())

    def build(self, context: Sequence[int], plan: Plan) -> tuple[Rows, list[str]]:
        """The rows of this step and who guessed each."""
        if not self._active:
            return Rows((context[-1],), (-1,), (0,)), [""]
        controller, window = self._controller, self._window if plan.window else None
        self._drafts = self._propose(context, plan)
        already = 1 + (window.rows_needed if window is not None else 0)
        built = tree.build(
            context,
            self._offer(plan),
            plan.depth,
            self._vocab_size,
            plan.rows,
            controller.least(already),
            lambda chances: controller.buy(chances, already),
            chain=self._chain,
        )
        self._verified = len(built)
        self._expected = {}
        for name, chance in zip(built.sources[1:], built.chances[1:], strict=True):
            self._expected[name] = self._expected.get(name, 0.0) + chance
        self._tail = tuple(context[-TAIL:])
        if self._window is not None:
            self._window.skip()
        if window is None:
            return built.rows(), built.sources
        newest = window.place(built, plan.depth)
        return built.rows([*range(self._verified), *newest]), built.sources

    def _propose(self, context: Sequence[int], plan: Plan) -> list[tuple[DraftSource, Draft]]:
        """The best drafts of the sources that are awake."""
        if plan.rows <= 0:
            return []
        controller = self._controller
        drafts: list[tuple[DraftSource, Draft]] = []
        for source in self._draft_sources:
            if controller.awake(source.name):
                trust = controller.trust(source.name)
                proposed = source.propose(context, plan.depth)
                drafts.extend((source, _discounted(draft, trust)) for draft in proposed if draft.token_ids)
        # Stable, so that on equal promise the order of the sources decides.
        drafts.sort(key=lambda pair: -sum(pair[1].chances))
        return drafts[: controller.limits.guesses]

    def _offer(self, plan: Plan) -> tree.Offer:
        """The drafts, and the follower source if it is awake."""
        drafts, follower = [draft for _, draft in self._drafts], self._follower
        self._follower_asked = plan.rows > 0 and follower is not None and self._controller.awake(follower.name)
        if follower is None or not self._follower_asked:
            return tree.Offer(drafts)
        return tree.Offer(drafts, follower.follow, follower.name, self._controller.reliability(follower.name))

    def learn(self, rows: Rows, scores: Scores, kept: Sequence[int], sources_of: Sequence[str]) -> None:
        """Tell everyone what was emitted. A draft is judged by the text even where no row was bought for it."""
        if not self._active:
            return
        outcomes = self._credit_drafts(kept)
        for source in self._all:
            source.observe(kept)
        if self._follower is not None:
            outcomes |= self._teach_follower(self._follower, rows, scores, kept)
        window_accepted = None
        if self._window is not None and kept and self._window.learn(rows, scores, len(kept)):
            window_accepted = sum(source == self._window.source.name for source in sources_of)
        self._controller.learn(outcomes, window_accepted)
        accepted = {source: sources_of.count(source) for source in self._expected}
        self._controller.record_acceptance(self._expected, accepted)

    def _credit_drafts(self, kept: Sequence[int]) -> dict[str, bool]:
        """Tell each source how far its drafts were right; whether any draft's first token was, by source."""
        outcomes: dict[str, bool] = {}
        for source, draft in self._drafts:
            matched = common(draft.token_ids, kept)
            judged = min(matched + 1, len(draft.token_ids), len(kept))
            if judged:
                source.credit(_cut(draft, judged), matched)
                outcomes[source.name] = outcomes.get(source.name, False) or matched > 0
        return outcomes

    def _teach_follower(
        self, follower: FollowerSource, rows: Rows, scores: Scores, kept: Sequence[int]
    ) -> dict[str, bool]:
        """Every verified row leaves its top tokens; whether the first emitted token was among row 0's followers.

        A source that sleeps learns, too. It is woken where it would have been right; where it would have been wrong,
        that does not count, as it would prolong the sleep of a source that was not asked.
        """
        # The tree stands before the window, and all of its rows are wanted. The window's have no text before them.
        best, logits = scores.top_ids[: self._verified].tolist(), scores.top_logits[: self._verified].tolist()
        token_ids, parents = rows.token_ids[: self._verified], rows.parents[: self._verified]
        previous = self._tail[-2] if len(self._tail) > 1 else -1
        before = [token_ids[parent] if parent >= 0 else previous for parent in parents]
        known = follower.follow(*self._tail) if kept else ()
        follower.learn(zip(before, token_ids, strict=True), best, logits)
        right = any(token_id == kept[0] for token_id, _ in known)
        return {follower.name: right} if known and (right or self._follower_asked) else {}


def _discounted(draft: Draft, trust: float) -> Draft:
    if trust == 1.0:
        return draft
    chances = tuple([trust * chance for chance in draft.chances])
    return Draft(draft.token_ids, chances, draft.source, draft.key, draft.position)


def _cut(draft: Draft, count: int) -> Draft:
    """The first tokens of a draft."""
    return Draft(draft.token_ids[:count], draft.chances[:count], draft.source, draft.key, draft.position)
