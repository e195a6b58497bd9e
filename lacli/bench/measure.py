"""All modes on all prompts, in one process, interleaved by prompt. Called by `lacli bench` and `replay`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lacli.bench import warm
from lacli.bench.loops import loop_start
from lacli.bench.modes import BIG_POOL, MEASURED, WRONG_POOL, Mode
from lacli.bench.runner import Player, Run, Task
from lacli.bench.suites import Case
from lacli.bench.warm import Lesson, lessons, strangers, unrelated, warmth

Progress = Callable[[str], None]


def measure(
    player: Player, cases: Sequence[Case], progress: Progress, wanted: Sequence[Mode] = (*MEASURED, WRONG_POOL)
) -> list[Run]:
    """The wanted modes. First the replies, for the pools; then, case by case, every mode."""
    tasks = [player.task(case) for case in cases]
    runs = []
    for suite in dict.fromkeys(case.suite for case in cases):
        runs += _measure([task for task in tasks if task.case.suite == suite], player, progress, wanted)
    return runs


def _measure(tasks: Sequence[Task], player: Player, progress: Progress, wanted: Sequence[Mode]) -> list[Run]:
    full: dict[str, tuple[int, ...]] = {}
    for number, task in enumerate(tasks, start=1):
        progress(f"recording {task.case.suite} {number}/{len(tasks)} {task.case.name}")
        full[task.case.name] = task.reference or player.reply(task)
    known: dict[str, Lesson] = {}
    kept = {task.case.name: _kept(task, full[task.case.name]) for task in tasks}
    if any(mode.pool for mode in wanted):
        progress(f"warming pools with {tasks[0].case.suite}")
        known = lessons(player, tasks, kept)
    stuff = (
        unrelated(player.encode, warm.UNRELATED_TOKENS) if BIG_POOL in wanted and tasks[0].case.suite == "code" else []
    )
    runs = []
    for number, task in enumerate(tasks, start=1):
        own = task.case.name
        progress(f"measuring {task.case.suite} {number}/{len(tasks)} {own}")
        looped = 1 - len(kept[own]) / len(full[own]) if full[own] else 0.0
        others = strangers(task, tasks, kept)
        modes = [mode for mode in _modes(task, alone=not others) if mode in wanted]
        shift = number % len(modes)  # no mode always runs first, on a cold cache, or last, on a warm processor
        cached = player.cached(task)
        for mode in [*modes[shift:], *modes[:shift]]:
            pool = warmth(task, mode, known, others, stuff, player.vocab_size)
            run = player.play(task, mode, cached, pool)
            twins = len(tasks) - 1 - len(others) if mode.pool == "others" else 0
            runs.append(replace(run, looped=looped if not mode.sampled else 0.0, twins=twins))
    return runs


def _kept(task: Task, reply: tuple[int, ...]) -> tuple[int, ...]:
    return reply if task.reference else reply[: loop_start(reply)]


def _modes(task: Task, alone: bool) -> list[Mode]:
    """What is measured: no sampling of a forced reply, no others' replies where there are none."""
    suite = task.case.suite
    modes = [mode for mode in MEASURED if mode.pool != "big" or suite == "code"]
    modes += [WRONG_POOL] if suite == "prose" else []
    return [mode for mode in modes if not (mode.sampled and task.reference) and not (mode.pool == "others" and alone)]
