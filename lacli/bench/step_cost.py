"""T(M): the time of a whole step of M rows, from ids in to accepted tokens out."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from lacli.drafts.base import Draft
from lacli.engine import tree
from lacli.engine.accept import accept
from lacli.engine.sampler import Sampler, SamplingOptions
from lacli.engine.sequence import CachedSequence
from lacli.models.base import Runner

ROWS = (1, 4, 8, 16, 32)
PAST = 200


def step_times(runner: Runner, rows: Sequence[int] = ROWS, repeats: int = 7, past: int = PAST) -> dict[int, float]:
    """Median milliseconds of a step with so many rows behind a short past; sizes are taken in turn."""
    return {count: statistics.median(spent) for count, spent in step_samples(runner, rows, repeats, past).items()}


def step_samples(runner: Runner, rows: Sequence[int], repeats: int, past: int) -> dict[int, list[float]]:
    """The same, each of the `repeats` times."""
    cached = CachedSequence(runner)
    prompt = [1 + index % (runner.vocab_size - 1) for index in range(min(past, runner.context_size // 2))]
    spent: dict[int, list[float]] = {count: [] for count in rows}
    for attempt in range(repeats + 1):
        for count in rows:
            cached.start(prompt, lambda done: True)
            started = time.perf_counter()
            guess = tuple((7 * index + attempt) % runner.vocab_size for index in range(1, count))
            drafts = [Draft(guess, (0.9,) * len(guess), "prompt")]
            built = tree.build(prompt, tree.Offer(drafts), count, runner.vocab_size, count - 1, 0.0, len).rows()
            accepted = accept(built, runner.forward(built), Sampler(SamplingOptions()))
            cached.keep(built, accepted.path)
            if attempt:  # the first round warms up
                spent[count].append(1000 * (time.perf_counter() - started))
    return spent
