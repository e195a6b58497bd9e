"""The replies of the suite `sessions` into figures, and figures into a table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lacli.bench.sessions.run import DAYS, Played

_COLUMNS = ("day", "task", "kind", "tok/step", "empty", "unrelated", "x plain", "rows/step", "tokens", "equal")


def summary(played: Sequence[Played]) -> dict[str, Any]:
    """Means over the tasks that count; ratios between pools are taken task by task."""
    counted = [one for one in played if not one.apart]
    first, second = _steps(counted, 1, "kept"), _steps(counted, 2, "kept")
    empty, unrelated = _steps(counted, 2, "empty"), _steps(counted, 2, "unrelated")
    result: dict[str, Any] = {
        "day_1": _mean(first.values()),
        "day_2": _mean(second.values()),
        "day_2_empty_pool": _mean(empty.values()),
        "day_2_unrelated_pool": _mean(unrelated.values()),
        "day_2_against_day_1": _ratio(_mean(second.values()), _mean(first.values())),
        "day_2_against_empty_pool": _mean(_pairs(second, empty)),
        "day_2_against_unrelated_pool": _mean(_pairs(second, unrelated)),
        "unrelated_against_empty_pool": _mean(_pairs(unrelated, empty)),
    }
    for day in DAYS:
        own = [one for one in counted if one.task.day == day and one.pool == "kept"]
        result[f"day_{day}_ratio_to_plain"] = _mean(one.figures["ratio_to_plain"] for one in own)
        again = [one for one in played if one.task.again and one.task.day == day and one.pool == "kept"]
        result[f"day_{day}_regenerations"] = _mean(one.figures["tokens_per_step"] for one in again)
    return result


def records(played: Sequence[Played]) -> list[dict[str, Any]]:
    """One record per reply, for programs; without the ids."""
    return [
        {
            "task": one.task.name,
            "day": one.task.day,
            "kind": one.task.kind,
            "pool": one.pool,
            "again": one.task.again,
            "twin": one.twin,
            **{name: value for name, value in one.figures.items() if not name.endswith("_ids")},
        }
        for one in played
    ]


def table(played: Sequence[Played]) -> list[str]:
    """The curve task by task, then the means."""
    others = {(one.task.name, one.pool): one.figures["tokens_per_step"] for one in played}
    kept = [one for one in played if one.pool == "kept"]
    rows = [_COLUMNS, *(_cells(one, others) for one in kept)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = []
    for row, remark in zip(rows, ["", *(_remark(one) for one in kept)], strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
        cells += [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
        lines.append("  ".join([*cells, remark]).rstrip())
    means = summary(played)
    lines.append("")
    lines.append(f"day 1: {_show(means['day_1'])} tokens per step, {_show(means['day_1_ratio_to_plain'])} x plain")
    lines.append(
        f"day 2: {_show(means['day_2'])} ({_show(means['day_2_against_day_1'])} x day 1), "
        f"{_show(means['day_2_ratio_to_plain'])} x plain"
    )
    for pool in ("empty", "unrelated"):
        lines.append(
            f"day 2, {pool} pool: {_show(means[f'day_2_{pool}_pool'])} "
            f"(with the kept pool {_show(means[f'day_2_against_{pool}_pool'])} x this)"
        )
    again = ", ".join(f"day {day} {_show(means[f'day_{day}_regenerations'])}" for day in DAYS)
    lines.append(f"left out of all means: regenerations ({again}) and replies nearly given before")
    return lines


def _cells(one: Played, others: dict[tuple[str, str], float | None]) -> tuple[str, ...]:
    figures = one.figures
    return (
        str(one.task.day),
        one.task.name,
        one.task.kind,
        _show(figures["tokens_per_step"]),
        _show(others.get((one.task.name, "empty"))),
        _show(others.get((one.task.name, "unrelated"))),
        _show(figures["ratio_to_plain"]),
        _show(figures["rows_per_step"], ".1f"),
        str(figures["tokens"]),
        "yes" if figures["equal_to_plain"] else "NO",
    )


def _remark(one: Played) -> str:
    if one.task.again:
        return f"regenerates {one.task.again}"
    return f"much as {one.twin}" if one.twin else ""


def _show(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else format(value, form)


def _steps(played: Sequence[Played], day: int, pool: str) -> dict[str, float]:
    return {
        one.task.name: one.figures["tokens_per_step"]
        for one in played
        if one.task.day == day and one.pool == pool and one.figures["tokens_per_step"] is not None
    }


def _pairs(left: dict[str, float], right: dict[str, float]) -> list[float]:
    return [value / right[name] for name, value in left.items() if right.get(name)]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _ratio(left: float | None, right: float | None) -> float | None:
    return left / right if left is not None and right else None
