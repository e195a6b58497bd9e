"""The counters that vLLM keeps of all its replies, read around one of ours, where an answer says nothing of its steps.

The difference belongs to our reply only if no other request ran meanwhile: the server must be idle before and after,
and have finished exactly one more request. Otherwise the numbers stay unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lacli.assistant.base import Cancel
from lacli.errors import LacliError
from lacli.events import ReplyStats
from lacli.remote import server as servers
from lacli.remote.exchange import Cancelled, Limits
from lacli.remote.figures import SOURCE
from lacli.remote.server import Server

_LINE = re.compile(r"^vllm:(\w+)(?:\{[^}]*\})? ([0-9.eE+]+)$", re.MULTILINE)
_NAMES = (
    *("num_requests_running", "request_success_total", "spec_decode_num_drafts_total"),
    *("spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total"),
)
"""The counters of a `Reading`, in its order."""
_QUICK = Limits(connect_s=1.0, idle_s=1.0)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the counters say at a moment."""

    running: float
    ended: float
    steps: float
    drafted: float
    accepted: float


class Counters:
    """Of one server."""

    def __init__(self, server: Server, before: Reading) -> None:
        self._server = server
        self._before = before

    @staticmethod
    def of(server: Server, cancel: Cancel) -> Counters | None:
        """None where the server has none, or decodes without drafts."""
        before = _read(server, cancel) if server.kind == "vllm" else None
        return None if before is None else Counters(server, before)

    def added(self, stats: ReplyStats, cancel: Cancel) -> ReplyStats:
        """The statistics with what the counters tell of this reply, where they tell of it alone."""
        try:
            before, after = self._before, _read(self._server, cancel)
        except Cancelled:  # the reply is complete: only these numbers are given up
            return stats
        if after is None:
            return stats
        self._before = after
        drafted, accepted = round(after.drafted - before.drafted), round(after.accepted - before.accepted)
        steps = max(round(after.steps - before.steps), stats.predicted_n - 1 - accepted)
        alone = before.running == after.running == 0 and after.ended - before.ended == 1
        if not alone or not stats.predicted_n or not 0 <= accepted <= drafted or steps < 0:
            return stats
        accepted = min(accepted, stats.predicted_n - 1)
        return replace(
            stats,
            steps=steps,
            plain_steps=stats.predicted_n - 1,
            untold_n=0,
            draft_n=drafted,
            draft_n_accepted=accepted,
            drafted_by_source={SOURCE: drafted} if drafted else {},
            accepted_by_source={SOURCE: accepted} if accepted else {},
            rows=steps + drafted,
            untold=tuple(name for name in stats.untold if name not in ("steps", "draft_n")),
        )


def reading(text: str) -> Reading | None:
    """The counters in a text of Prometheus' format; None where those of drafts are missing."""
    sums: dict[str, float] = {}
    for name, value in _LINE.findall(text):
        try:
            sums[name] = sums.get(name, 0.0) + float(value)
        except ValueError:
            return None
    return Reading(*(sums[name] for name in _NAMES)) if all(name in sums for name in _NAMES) else None


def _read(server: Server, cancel: Cancel) -> Reading | None:
    try:
        head, body = servers.told(server.remote, _QUICK, f"{server.remote.root}/metrics", None, cancel)
    except LacliError:
        return None
    return reading(body.decode("utf-8", "replace")) if head.status == 200 else None
