"""Whole replies through the engine, for the tests of its parts; and a next-token rule that repeats nothing soon."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from lacli.drafts.base import GuessSource
from lacli.engine.controller import Controller, Limits
from lacli.engine.cost import CostCurve
from lacli.engine.loop import decode
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.sequence import CachedSequence
from lacli.engine.step import Finish, Step
from lacli.engine.stop import StopRule, Stops
from lacli.models.base import Runner
from tests.fakes import as_sources

VERIFY_ONLY = Limits(window=0)
PLAIN = Limits(lookahead=False)


@dataclass(frozen=True)
class Reply:
    ids: list[int]
    steps: list[Step]

    @property
    def finish(self) -> Finish | None:
        return self.steps[-1].finish

    @property
    def forwards(self) -> int:
        return sum(step.rows > 0 for step in self.steps)


def reply(
    runner: Runner | CachedSequence,
    prompt: Sequence[int],
    count: int = 40,
    sources: Sequence[GuessSource] = (),
    *,
    options: SamplingOptions = SamplingOptions(),  # noqa: B008 - frozen
    eos: Collection[int] = (),
    rule: StopRule | None = None,
    limits: Limits = VERIFY_ONLY,
    controller: Controller | None = None,
    cancel: Callable[[], bool] = lambda: False,
) -> Reply:
    """A reply where rows cost nothing, so that every guess is verified; a bare runner starts with an empty cache."""
    if isinstance(runner, CachedSequence):
        cached = runner
    else:
        runner.truncate(0)
        cached = CachedSequence(runner)
    steps = list(
        decode(
            prompt,
            cached,
            as_sources(sources),
            Sampler(options, prompt),
            Stops(eos, count, rule),
            controller or Controller(CostCurve.flat(), limits),
            cancel,
        )
    )
    return Reply([token_id for step in steps for token_id in step.token_ids], steps)


def successor(context: Sequence[int]) -> int:
    """The next token of a text in which no two neighbours are ever the same pair for 40 tokens: count upwards."""
    return (context[-1] + 1) % 50
