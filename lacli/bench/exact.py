"""Compares the text of every mode with plain decoding, token for token.

Edit-ref prompts are answered by the model itself here: a forced reply would always be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lacli.bench.divergence import Divergence, explain
from lacli.bench.measure import Progress
from lacli.bench.modes import COMPARED, PLAIN, SAMPLED_PLAIN, Mode, Warmth, plain_of, poisoned
from lacli.bench.runner import Bench, Task
from lacli.bench.suites import Case
from lacli.bench.warm import log


@dataclass(frozen=True, slots=True)
class Difference:
    """A mode that changed a text."""

    suite: str
    prompt: str
    mode: str
    position: int
    """First token that differs."""
    expected: tuple[int, ...]
    """A few ids from there on, as plain decoding gives them."""
    found: tuple[int, ...]
    explained: Divergence | None = None
    """What decided it, where that was asked for."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared and what differed."""

    prompts: int
    texts: int
    tokens: int
    differences: tuple[Difference, ...]


def compare(
    bench: Bench,
    cases: Sequence[Case],
    progress: Progress,
    modes: Sequence[Mode] = COMPARED,
    explained: bool = False,
) -> Comparison:
    """Every mode on every case; the pools hold plain replies of the same suite, or segments that go on wrongly.

    explained: say of each difference what decided it, which takes the text twice more.
    """
    tasks = [bench.task(case) for case in cases]
    replies: dict[tuple[str, str], dict[str, tuple[int, ...]]] = {}
    for number, task in enumerate(tasks, start=1):
        progress(f"recording {number}/{len(tasks)} {task.case.name}")
        for plain in (PLAIN, SAMPLED_PLAIN):
            reply = bench.play(task, plain, bench.cached(task), stop_loops=False).token_ids
            replies.setdefault((task.case.suite, plain.name), {})[task.case.name] = reply
    differences = []
    texts = tokens = 0
    for number, task in enumerate(tasks, start=1):
        progress(f"comparing {number}/{len(tasks)} {task.case.name}")
        cached = bench.cached(task)
        for mode in modes:
            known = replies[task.case.suite, plain_of(mode).name]
            segments = log(task, mode, known, bench.vocab_size)
            if mode.pool == "wrong":  # right for a while, too, so that the walk ends inside a chain
                segments += poisoned(task.prompt, known[task.case.name], bench.vocab_size, right=3)
            found = bench.play(task, mode, cached, Warmth(segments), stop_loops=False).token_ids
            texts, tokens = texts + 1, tokens + len(found)
            difference = _difference(task, mode, known[task.case.name], found)
            if difference is None:
                continue
            if explained:
                cached.begin((0,))
                why = explain(bench.runner, task.prompt, known[task.case.name], difference.found, difference.position)
                bench.runner.truncate(0)
                difference = replace(difference, explained=why)
            differences.append(difference)
    return Comparison(len(tasks), texts, tokens, tuple(differences))


def _difference(task: Task, mode: Mode, expected: tuple[int, ...], found: tuple[int, ...]) -> Difference | None:
    if expected == found:
        return None
    pairs = zip(expected, found, strict=False)
    shorter = min(len(expected), len(found))
    position = next((index for index, (ours, theirs) in enumerate(pairs) if ours != theirs), shorter)
    case = task.case
    span = slice(position, position + 8)
    return Difference(case.suite, case.name, mode.name, position, expected[span], found[span])
