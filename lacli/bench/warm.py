"""What stands in the pool of each mode: made of replies of the same suite, as a process that gave them would leave it.

Never does a mode but warm-replay know anything of the reply it is measured on: its own and its near twins' entries are
left out, and the calibration comes from the half of the suite it is not in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacli.bench.modes import ALL_COLD, COLD, Mode, Warmth, poisoned
from lacli.bench.runner import Player, Task
from lacli.bench.suites import library_sources, shared_runs, word_overlap
from lacli.drafts.successor import SuccessorSource, SuccessorTable

UNRELATED_TOKENS = 1_000_000
_TWIN_PROMPT = 0.5
_TWIN_REPLY = 0.5
_RUN = 6  # tokens in a row that two replies share


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """What one reply leaves behind."""

    reply: tuple[int, ...]
    tables: tuple[SuccessorTable, ...]
    numbers: Mapping[str, Sequence[float]]
    """Calibration of a process that has given replies of the half of the suite that this one is not in."""


def teach(player: Player, tasks: Sequence[Task], replies: Mapping[str, tuple[int, ...]]) -> dict[str, Taught]:
    """By the name of the case. Every reply is given once more, and watched, with a table of its own and the log and
    the calibration of the replies of its half so far."""
    tables: dict[str, tuple[SuccessorTable, ...]] = {}
    numbers: list[dict[str, Sequence[float]]] = [{}, {}]
    for half in (0, 1):
        log: list[tuple[int, ...]] = []
        for task in tasks[half::2]:
            sources = ALL_COLD.sources(Warmth(tuple(log), (), numbers[half]), player.primer, player.ngrams)
            player.play_with(task, ALL_COLD, player.cached(task), sources)
            log.append(replies[task.case.name])
            tables[task.case.name] = tuple(
                source.changes() for source in sources.all() if isinstance(source, SuccessorSource)
            )
            numbers[half] |= {source.name: source.numbers() for source in sources.all()}
    return {
        task.case.name: Taught(replies[task.case.name], tables[task.case.name], numbers[1 - place % 2])
        for place, task in enumerate(tasks)
    }


def warmth(
    task: Task,
    mode: Mode,
    known: Mapping[str, Taught],
    others: Sequence[str],
    stuff: Sequence[NDArray[np.uint32]],
    vocab_size: int,
) -> Warmth:
    """The pool of this mode. others: names of the cases whose replies may stand in it; stuff: unrelated tokens."""
    if not mode.pool:
        return COLD
    own = known[task.case.name]
    taught = [known[name] for name in others] if mode.pool == "others" else [own]
    tables = [table for one in taught for table in one.tables]
    if mode.pool == "wrong":
        segments = poisoned(task.prompt, own.reply, vocab_size)
        return Warmth(segments, [_wrong(table, vocab_size) for table in tables], own.numbers)
    return Warmth([*(stuff if mode.pool == "big" else ()), *(one.reply for one in taught)], tables, own.numbers)


def _wrong(table: SuccessorTable, vocab_size: int) -> SuccessorTable:
    """The same entries, all of whose guesses are others."""
    keys, followers, weights = table
    shifted = (followers + 1) % vocab_size
    return keys, np.where(followers < vocab_size, shifted, followers).astype(np.uint32), weights


def log(task: Task, mode: Mode, replies: Mapping[str, tuple[int, ...]], vocab_size: int) -> list[tuple[int, ...]]:
    """The log alone, of a mode that needs no more than these replies."""
    own = task.case.name
    if mode.pool == "others":
        return [reply for name, reply in replies.items() if name != own]
    if mode.pool == "wrong":
        return poisoned(task.prompt, replies[own], vocab_size)
    return [replies[own]] if mode.pool else []


def strangers(task: Task, tasks: Sequence[Task], replies: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Names of the cases that are neither this one nor a near twin of it, by prompt or by reply."""
    own = replies[task.case.name]
    return [
        other.case.name
        for other in tasks
        if other is not task
        and word_overlap(task.case.prompt, other.case.prompt) < _TWIN_PROMPT
        and shared_runs(own, replies[other.case.name], _RUN) < _TWIN_REPLY
    ]


def unrelated(encode: Callable[[str], Sequence[int]], count: int) -> list[NDArray[np.uint32]]:
    """So many tokens of Python's standard library, a segment a file."""
    segments: list[NDArray[np.uint32]] = []
    left = count
    for text in library_sources():
        if left <= 0:
            break
        segments.append(np.array(encode(text)[:left], dtype=np.uint32))
        left -= len(segments[-1])
    return segments
