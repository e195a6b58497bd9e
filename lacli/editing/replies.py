"""The answers that one edit took, as one reply: counts of those that were used, what the others cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from lacli.events import Counts, Finished


def given_up(finished: Finished) -> Finished:
    """A reply of which nothing was used, with the statistics of that: its tokens are given up, and nothing is saved."""
    stats = finished.stats
    unused = {**{each.name: getattr(Counts(), each.name) for each in fields(Counts)}, "predicted_ms": 0.0}
    return replace(finished, stats=replace(stats, **unused, given_up_n=stats.given_up_n + stats.predicted_n))


def joined(replies: Sequence[Finished]) -> Finished:
    """Replies that were written one after another for one purpose, as one: texts and ids of the last, counts of all."""
    last = replies[-1]
    counts = sum((each.stats for each in replies[1:]), start=Counts() + replies[0].stats)
    added = {name: sum(getattr(each.stats, name) for each in replies) for name in _TIMES}
    first = {name: getattr(replies[0].stats, name) for name in ("ttft_ms", "load_ms", "import_ms", "ahead_n")}
    known = {each.name: getattr(counts, each.name) for each in fields(Counts)}
    return replace(last, stats=replace(last.stats, **known, **added, **first))


_TIMES = ("prompt_n", "reused_n", "prompt_ms", "predicted_ms", "given_up_n")
"""Of a reply's statistics, what adds up besides the counts."""
