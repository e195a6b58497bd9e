"""All modes on all prompts, in one process, interleaved by prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lacli.bench import warm
from lacli.bench.loops import loop_start
from lacli.bench.modes import ALL_COLD, BIG_POOL, MEASURED, PLAIN, WRONG_POOL, Mode
from lacli.bench.runner import Player, Run, Task
from lacli.bench.suites import LONG, Case
from lacli.bench.warm import Taught, strangers, teach, unrelated, warmth

Progress = Callable[[str], None]


def measure(
    player: Player, cases: Sequence[Case], progress: Progress, wanted: Sequence[Mode] = (*MEASURED, WRONG_POOL)
) -> list[Run]:
    """The wanted modes. First the replies, for the pools; then, case by case, every mode."""
    tasks = [player.task(case) for case in cases]
    runs = []
    # A long prompt is read once for all that is done with it.
    for group in dict.fromkeys((task.case.suite, task.case.name if task.case.filled else "") for task in tasks):
        own = [task for task in tasks if task.case.suite == group[0] and group[1] in ("", task.case.name)]
        runs += _measure(own, player, progress, wanted)
    return runs


def _measure(tasks: Sequence[Task], player: Player, progress: Progress, wanted: Sequence[Mode]) -> list[Run]:
    full: dict[str, tuple[int, ...]] = {}
    for number, task in enumerate(tasks, start=1):
        progress(f"recording {task.case.suite} {number}/{len(tasks)} {task.case.name}")
        cached = player.cached(task)
        full[task.case.name] = task.reference or player.reply(task, cached)
    known: dict[str, Taught] = {}
    kept = {task.case.name: _kept(task, full[task.case.name]) for task in tasks}
    if any(mode.pool for mode in _modes(tasks[0], wanted, alone=False)):
        progress(f"warming pools with {tasks[0].case.suite}")
        known = teach(player, tasks, kept)
    crowded = BIG_POOL in _modes(tasks[0], wanted, alone=True)
    stuff = unrelated(player.encode, warm.UNRELATED_TOKENS) if crowded else []
    runs = []
    for number, task in enumerate(tasks, start=1):
        own = task.case.name
        progress(f"measuring {task.case.suite} {number}/{len(tasks)} {own}")
        looped = 1 - len(kept[own]) / len(full[own]) if full[own] else 0.0
        others = strangers(task, tasks, kept)
        modes = _modes(task, wanted, alone=not others)
        shift = number % len(modes)  # no mode always runs first, on a cold cache, or last, on a warm processor
        if len(tasks) > 1:
            cached = player.cached(task)
        for mode in [*modes[shift:], *modes[:shift]]:
            pool = warmth(task, mode, known, others, stuff, player.vocab_size)
            run = player.play(task, mode, cached, pool)
            twins = len(tasks) - 1 - len(others) if mode.pool == "others" else 0
            runs.append(replace(run, looped=looped if not mode.sampled else 0.0, twins=twins))
    return runs


def _kept(task: Task, reply: tuple[int, ...]) -> tuple[int, ...]:
    return reply if task.reference else reply[: loop_start(reply)]


def _modes(task: Task, wanted: Sequence[Mode], alone: bool) -> list[Mode]:
    """What is measured: no sampling of a forced reply, no others' replies where there are none."""
    suite = task.case.suite
    modes = [mode for mode in MEASURED if mode.pool != "big" or suite == "code"]
    modes += [WRONG_POOL] if suite == "prose" else []
    if suite == LONG:
        modes = [PLAIN, ALL_COLD]
    return [
        mode
        for mode in modes
        if mode in wanted and not (mode.sampled and task.reference) and not (mode.pool == "others" and alone)
    ]
