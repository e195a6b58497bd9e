"""Numbers by week as a table and a chart of plain ASCII that fit into a width. Pure: values in, lines out.

Called by `stats`.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from lacli.cli.render import counted
from lacli.events import Counts

Week = tuple[datetime.date, Counts]
"""Its Monday, and what was done until its Sunday."""

_LABEL = 10
_WIDEST_BAR = 60


def weekly(days: Mapping[str, Counts], weeks: int, today: datetime.date) -> list[Week]:
    """The last weeks up to today's, oldest first, from the first with a reply on; weeks without one are there, too."""
    this = today - datetime.timedelta(days=today.weekday())
    sums = {this - datetime.timedelta(weeks=number): Counts() for number in reversed(range(weeks))}
    for day, counts in days.items():
        try:
            date = datetime.date.fromisoformat(day)
        except ValueError:  # of a damaged file
            continue
        monday = date - datetime.timedelta(days=date.weekday())
        if monday in sums:
            sums[monday] += counts
    found = list(sums.items())
    first = next((place for place, (_, counts) in enumerate(found) if counts.replies), 0)
    return found[first:]


def table(weeks: Sequence[Week], width: int) -> list[str]:
    """A line a week and one for all; the sources that brought least are left out where they do not fit."""
    total = sum((counts for _, counts in weeks), Counts())
    names = sorted(total.accepted_by_source, key=lambda name: -total.accepted_by_source[name])
    names = [name for name in names if total.accepted_by_source[name]]
    heads = ["replies", "tokens", "tok/step", "saved", "guessed"]
    while names and len(_line("", heads + names)) > width:
        names.pop()
    while len(heads) > 3 and len(_line("", heads)) > width:
        heads.pop()
    lines = [_line("week of", heads + names)]
    for monday, counts in weeks:
        lines.append(_line(monday.isoformat(), _cells(counts, heads, names)))
    if len(weeks) > 1:
        lines.append(_line("all", _cells(total, heads, names)))
    return lines


def _cells(counts: Counts, heads: Sequence[str], names: Sequence[str]) -> list[str]:
    values = {
        "replies": f"{counts.replies:,}",
        "tokens": f"{counts.predicted_n:,}",
        "tok/step": "-" if counts.tokens_per_step is None else f"{counts.tokens_per_step:.2f}",
        "saved": _minutes(counts.saved_ms),
        "guessed": _share(counts.draft_n_accepted, counts),
    }
    return [values[head] for head in heads] + [_share(counts.accepted_by_source.get(name, 0), counts) for name in names]


def _line(label: str, cells: Sequence[str]) -> str:
    return label.ljust(_LABEL) + "".join(f"  {cell:>9}" for cell in cells)


def _share(part: int, counts: Counts) -> str:
    return f"{part / counts.predicted_n:.0%}" if counts.predicted_n else "-"


def _minutes(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "-"
    minutes = milliseconds / 60_000
    if abs(minutes) >= 600:
        return f"{minutes / 60:,.0f} h"
    return f"{minutes:,.1f} min" if abs(minutes) >= 0.05 or not milliseconds else f"{milliseconds / 1000:,.1f} s"


def chart(weeks: Sequence[Week], width: int) -> list[str]:
    """Tokens per step as bars that begin at none; where a bar passes the mark, steps were saved."""
    known = [counts.tokens_per_step for _, counts in weeks if counts.tokens_per_step is not None]
    room = min(_WIDEST_BAR, width - _LABEL - 8)
    if not known or room < 10:
        return []
    longest = max(1.0, *known)
    plain = round(room / longest)
    lines = [f"tokens per step (| is plain decoding, 1 token per step; {counted(len(weeks), 'week', 'weeks')})"[:width]]
    for monday, counts in weeks:
        value = counts.tokens_per_step
        filled = 0 if value is None else round(room * value / longest)
        bar = "#" * min(filled, plain - 1) + " " * (plain - 1 - filled) + "|" + "#" * (filled - plain)
        shown = "-" if value is None else f"{value:.2f}"
        lines.append(f"{monday.isoformat()}  {bar} {shown}")
    return lines
