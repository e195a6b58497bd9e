"""One reply, step by step: which rows to run, and what is committed once their scores are known.

The driver runs the forward between `rows` and `answer`: `engine.loop` for one reply, `engine.batch` for many. This
module only decides; `engine.metrics` times and counts. Between steps the state is always consistent, so a driver may be
closed there.
"""

from __future__ import annotations

from collections.abc import Sequence

from lacli.drafts.base import Sources
from lacli.engine.accept import accept
from lacli.engine.controller import Controller
from lacli.engine.guesses import Guesses
from lacli.engine.sampler import Sampler
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Accepted, Committed, Finish, ForwardRequest
from lacli.engine.stop import Stops
from lacli.models.base import Rows, Scores


class Decoder:
    """The steps of one reply to a prompt: `start`, then `rows` and `answer` in turn until `finish` is set."""

    def __init__(
        self,
        prompt: Sequence[int],
        cached: CachedSequence,
        sources: Sources,
        sampler: Sampler,
        stops: Stops,
        controller: Controller,
    ) -> None:
        """`cached` must hold the prompt already: only after prefill does a runner know whether it can branch."""
        self._context = list(prompt)
        self._cached = cached
        self._sampler = sampler
        self._stops = stops
        self._guesses = Guesses(prompt, sources, controller, cached)
        self._rows: Rows | None = None
        self._row_sources: Sequence[str] = ()

    def start(self, scores: Scores) -> Committed:
        """Commit the first token. `scores`: those of the prompt's last token, a single row."""
        run = (self._sampler.draw(scores, 0),)
        cut = self._stops.cut(run)
        kept = run[: cut.keep]
        self._context.extend(kept)
        self._guesses.start(self._context)
        return Committed(kept, ("",) * len(kept), cut.finish or self._full())

    def rows(self) -> ForwardRequest:
        """Plan, propose and build the rows of the next step."""
        plan = self._guesses.plan(self._room())
        self._rows, self._row_sources = self._guesses.build(self._context, plan)
        return ForwardRequest(self._rows, 1.0 + self._guesses.expected)

    def answer(self, scores: Scores) -> Committed:
        """Accept, cut, and commit the one list that results to cache, context and sources. `scores`: those of the rows
        requested."""
        rows, self._rows = self._rows, None
        assert rows is not None, "no rows were asked for"
        accepted = accept(rows, scores, self._sampler)
        cut = self._stops.cut(accepted.token_ids)
        kept = accepted.token_ids[: cut.keep]
        sources = _sources_of(accepted, self._row_sources)[: cut.keep]
        self._cached.keep(rows, accepted.path[: cut.keep])
        self._context.extend(kept)
        self._guesses.learn(rows, scores, kept, sources)
        return Committed(kept, sources, cut.finish or self._full(), rows, self._row_sources)

    def _room(self) -> int:
        """Tokens that budget and context still allow below row 0."""
        runner = self._cached.runner
        return min(self._stops.room, runner.context_size - runner.length) - 1

    def _full(self) -> Finish | None:
        runner = self._cached.runner
        return Finish.CONTEXT if runner.length >= runner.context_size else None


def _sources_of(accepted: Accepted, row_sources: Sequence[str]) -> tuple[str, ...]:
    """The source of each accepted token: that of the row after the one it was drawn at; "" for the bonus token."""
    return (*(row_sources[row] for row in accepted.path[1:]), "")
