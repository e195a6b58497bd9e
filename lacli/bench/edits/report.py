"""What the runs come to: verdicts by way, kind and language, and medians. Pure: runs in, lines of Markdown out."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from lacli.bench.edits.judge import VERDICTS
from lacli.bench.edits.run import Run
from lacli.bench.edits.ways import WAYS


def lines(runs: Sequence[Run]) -> list[str]:
    """A table of all, and one by kind and language."""
    ways = [way for way in WAYS if any(run.way == way for run in runs)]
    if not runs:
        return ["no task was done"]
    found = [_row(["way", "tasks", *VERDICTS, "tries", "seconds", "tokens", "tokens/step"]), _rule(10)]
    for way in ways:
        own = [run for run in runs if run.way == way]
        found.append(_row([way, str(len(own)), *_counts(own), *_medians(own)]))
    if len(ways) > 1:
        found += ["", *_against(runs, ways)]
    found += ["", _row(["", *(f"{way}: {' / '.join(VERDICTS)}" for way in ways)]), _rule(len(ways) + 1)]
    for names in ([run.kind for run in runs], [run.language for run in runs]):
        for name in dict.fromkeys(names):
            own = [run for run, its in zip(runs, names, strict=True) if its == name]
            cells = [" / ".join(_counts([run for run in own if run.way == way])) for way in ways]
            found.append(_row([name, *cells]))
    return found


def _counts(runs: Sequence[Run]) -> list[str]:
    return [str(sum(run.verdict == verdict for run in runs)) for verdict in VERDICTS]


def _medians(runs: Sequence[Run]) -> list[str]:
    per_step = [run.tokens_per_step for run in runs if run.tokens_per_step]
    return [
        f"{statistics.mean(run.tries for run in runs):.2f}",
        f"{statistics.median(run.seconds for run in runs):.1f}",
        f"{statistics.median(run.tokens for run in runs):.0f}",
        f"{statistics.median(per_step):.1f}" if per_step else "-",
    ]


def _against(runs: Sequence[Run], ways: Sequence[str]) -> list[str]:
    """Seconds of the first way by another's, task by task."""
    seconds = {(run.task, run.way): run.seconds for run in runs}
    found = []
    for other in ways[1:]:
        ratios = [
            seconds[task, ways[0]] / seconds[task, other]
            for task in dict.fromkeys(run.task for run in runs)
            if (task, ways[0]) in seconds and seconds.get((task, other))
        ]
        if ratios:
            median = statistics.median(ratios)
            found.append(f"Seconds of {ways[0]} by {other}'s, median over {len(ratios)} tasks: {median:.2f}")
    return found


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _rule(columns: int) -> str:
    return "|" + "---|" * columns
