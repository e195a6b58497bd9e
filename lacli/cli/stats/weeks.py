"""Numbers by week as a table and a chart of plain ASCII that fit into a width. Pure: values in, lines out."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from lacli.events import Counts
from lacli.shared.wording import signed_duration

Week = tuple[datetime.date, Counts]
"""Its Monday, and what was done until its Sunday."""

_LABEL = 10
_HEADS = ["replies", "tokens", "tok/step", "saved", "guessed"]
_FROM_DISK = ("project", "files")
"""The sources that a project brings with it: its pool, and what stands in its files."""
_FEWEST = 3
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
    """A line a week and one for all; what does not fit is left out from the right, the pool and the files last."""
    total = sum((counts for _, counts in weeks), Counts())
    sources = [name for name, count in total.accepted_by_source.items() if count]
    sources.sort(key=lambda name: (name not in _FROM_DISK, -total.accepted_by_source[name]))
    rows = [("week of", _HEADS + sources)]
    rows += [(monday.isoformat(), _cells(counts, sources)) for monday, counts in weeks]
    rows += [("all", _cells(total, sources))] if len(weeks) > 1 else []
    widths = [2 + max(len(cells[column]) for _, cells in rows) for column in range(len(_HEADS) + len(sources))]
    while len(widths) > _FEWEST and _LABEL + sum(widths) > width:
        widths.pop()
    return [label.ljust(_LABEL) + "".join(map(str.rjust, cells, widths)) for label, cells in rows]


def _cells(counts: Counts, sources: Sequence[str]) -> list[str]:
    return [
        f"{counts.replies:,}",
        f"{counts.predicted_n:,}",
        "-" if counts.tokens_per_step is None else f"{counts.tokens_per_step:.2f}",
        "-" if counts.saved_ms is None else signed_duration(counts.saved_ms),
        _share(counts.draft_n_accepted, counts),
        *(_share(counts.accepted_by_source.get(name, 0), counts) for name in sources),
    ]


def _share(part: int, counts: Counts) -> str:
    return f"{part / counts.predicted_n:.0%}" if counts.predicted_n else "-"


def chart(weeks: Sequence[Week], width: int) -> list[str]:
    """Tokens per step as bars that begin at none; where a bar passes the mark, steps were saved."""
    known = [counts.tokens_per_step for _, counts in weeks if counts.tokens_per_step is not None]
    room = min(_WIDEST_BAR, width - _LABEL - 8)
    if not known or room < 10:
        return []
    longest = max(1.0, *known)
    plain = round(room / longest)
    lines = ["tokens per step; | is plain decoding"[:width]]
    for monday, counts in weeks:
        value = counts.tokens_per_step
        filled = 0 if value is None else round(room * value / longest)
        bar = "#" * min(filled, plain - 1) + " " * (plain - 1 - filled) + "|" + "#" * (filled - plain)
        shown = "-" if value is None else f"{value:.2f}"
        lines.append(f"{monday.isoformat()}  {bar} {shown}")
    return lines
