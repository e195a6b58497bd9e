"""One reply, a step at a time: which rows to run, and what is committed once their scores are known.

Whoever drives it runs the forward between `rows` and `answer`: `engine.loop` for one reply, `engine.batch` for many.
It decides only; `engine.metrics` times and counts. Closing the driver between steps always finds a whole state.
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
        """cached: holds the prompt already, as only then a runner knows whether it can branch."""
        self._context = list(prompt)
        self._cached = cached
        self._sampler = sampler
        self._stops = stops
        self._guesses = Guesses(prompt, sources, controller, cached)
        self._rows: Rows | None = None
        self._row_sources: Sequence[str] = ()

    def start(self, scores: Scores) -> Committed:
        """Deliver the first token. scores: of the prompt's last token, a single row."""
        run = (self._sampler.draw(scores, 0),)
        cut = self._stops.cut(run)
        kept = run[: cut.keep]
        self._context.extend(kept)
        self._guesses.start(self._context)
        return Committed(kept, ("",) * len(kept), cut.finish or self._full())

    def rows(self) -> ForwardRequest:
        """Plan, propose and build: the rows of the next step."""
        plan = self._guesses.plan(self._room())
        self._rows, self._row_sources = self._guesses.build(self._context, plan)
        return ForwardRequest(self._rows, 1.0 + self._guesses.expected)

    def answer(self, scores: Scores) -> Committed:
        """Accept, cut and commit; after the cut everything reads the same list. scores: of the rows asked for."""
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
        """Tokens that still fit below row 0."""
        runner = self._cached.runner
        return min(self._stops.room, runner.context_size - runner.length) - 1

    def _full(self) -> Finish | None:
        runner = self._cached.runner
        return Finish.CONTEXT if runner.length >= runner.context_size else None


def _sources_of(accepted: Accepted, row_sources: Sequence[str]) -> tuple[str, ...]:
    """Who guessed each accepted token: the row after the one it was drawn at, nobody for the bonus token."""
    return (*(row_sources[row] for row in accepted.path[1:]), "")
