"""Runs into figures, and figures into a table. Pure.

The headline of a mode is the unweighted mean over prompts; ratios are taken prompt by prompt within one process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lacli.bench.modes import COMPARED, MEASURED, plain_of
from lacli.bench.runner import Run
from lacli.shared.wording import counted

Figures = dict[str, Any]

_MODES = {mode.name: mode for mode in (*MEASURED, *COMPARED)}
_COLUMNS = ("mode", "tok/step", "tok/s", "x plain", "rows/step", "drafting", "equal")


def figures(runs: Sequence[Run]) -> list[Figures]:
    """One record per suite and mode, in the order of first appearance of the suites and of `modes`."""
    plain = {(run.suite, run.case, run.mode): run for run in runs}
    records = []
    for suite in dict.fromkeys(run.suite for run in runs):
        for mode in _MODES.values():
            own = [run for run in runs if run.suite == suite and run.mode == mode.name]
            if own:
                pairs = [(run, plain[suite, run.case, plain_of(mode).name]) for run in own]
                records.append(_record(suite, mode.name, pairs))
    return records


def _record(suite: str, mode: str, pairs: Sequence[tuple[Run, Run]]) -> Figures:
    own = [run for run, _ in pairs]
    delivered = sum(len(run.token_ids) for run in own)
    accepted: Counter[str] = Counter()
    for run in own:
        accepted.update(run.accepted)
    return {
        "suite": suite,
        "mode": mode,
        "prompts": len(own),
        "tokens": delivered,
        "twins_left_out": sum(run.twins for run in own),
        "looped_share": _mean(run.looped for run in own),
        "tokens_per_step": _mean(run.tokens_per_step for run in own),
        "tokens_per_second": _mean(run.tokens_per_second for run in own),
        "ratio_to_plain": _mean(_ratio(run, plain) for run, plain in pairs),
        "rows_per_step": _mean(run.rows_per_step for run in own),
        "drafting_share": _mean(run.drafting_share for run in own),
        "accepted_by_source": {name: count / max(1, delivered) for name, count in sorted(accepted.items())},
        "equal_to_plain": all(run.token_ids == plain.token_ids for run, plain in pairs),
    }


def _ratio(run: Run, plain: Run) -> float | None:
    ours, theirs = run.tokens_per_second, plain.tokens_per_second
    return ours / theirs if ours is not None and theirs else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def prompt_records(runs: Sequence[Run]) -> list[Figures]:
    """One record per run, for programs."""
    return [
        {
            "suite": run.suite,
            "prompt": run.case,
            "mode": run.mode,
            "tokens": len(run.token_ids),
            "steps": run.steps,
            "rows": run.rows,
            "draft_n": run.drafted,
            "accepted_by_source": run.accepted,
            "tokens_per_step": run.tokens_per_step,
            "tokens_per_second": run.tokens_per_second,
            "draft_ms": run.draft_ms,
            "forward_ms": run.forward_ms,
        }
        for run in runs
    ]


def first_token(runs: Sequence[Run], import_ms: float, load_ms: float) -> Figures:
    """What the first token of a fresh process waits for; prefill is the mean over the prompts' first runs."""
    firsts: dict[tuple[str, str], float] = {}
    for run in runs:
        firsts.setdefault((run.suite, run.case), run.prefill_ms)
    prefill_ms = sum(firsts.values()) / max(1, len(firsts))
    total = max(import_ms + load_ms + prefill_ms, 1e-9)
    parts = {"import": import_ms, "load": load_ms, "prefill": prefill_ms}
    return {f"{name}_ms": ms for name, ms in parts.items()} | {
        f"{name}_share": ms / total for name, ms in parts.items()
    }


def table(records: Sequence[Figures]) -> list[str]:
    """Aligned lines, a block per suite."""
    lines: list[str] = []
    for suite in dict.fromkeys(record["suite"] for record in records):
        own = [record for record in records if record["suite"] == suite]
        rows = [_COLUMNS, *(_cells(record) for record in own)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
        prompts = counted(own[0]["prompts"], "prompt", "prompts")
        lines.append(f"{suite}: {prompts}, {own[0]['looped_share'] or 0:.0%} looped and left out")
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            lines.append("  " + "  ".join(cells).rstrip())
        guessed = [record for record in own if record["accepted_by_source"]]
        for record in guessed:
            shares = ", ".join(f"{name} {share:.0%}" for name, share in record["accepted_by_source"].items())
            lines.append(f"  guessed in {record['mode']}: {shares}")
        twins = max(record["twins_left_out"] for record in own)
        if twins:
            lines.append(f"  near twins kept out of the pools of warm-similar: {twins}, over all prompts")
        lines.append("")
    return lines


_WORST = (("prose", "cold"), ("prose", "warm-similar"), ("prose", "wrong pool"), ("long", "cold"))


def worst(records: Sequence[Figures]) -> Figures:
    """Speed against plain where guessing has least to win, as far as it was measured."""
    known = {(record["suite"], record["mode"]): record["ratio_to_plain"] for record in records}
    return {f"{suite}, {mode}": known[suite, mode] for suite, mode in _WORST if known.get((suite, mode)) is not None}


def _cells(record: Figures) -> tuple[str, ...]:
    show: Callable[[Any, str], str] = lambda value, form: "-" if value is None else format(value, form)  # noqa: E731
    return (
        record["mode"],
        show(record["tokens_per_step"], ".2f"),
        show(record["tokens_per_second"], ".1f"),
        show(record["ratio_to_plain"], ".2f"),
        show(record["rows_per_step"], ".1f"),
        show(record["drafting_share"], ".1%"),
        "yes" if record["equal_to_plain"] else "NO",
    )
