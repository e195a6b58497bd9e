"""A process of the suite `sessions`: answers prompts as `lacli ask` would, and says how many steps that took.

`python -m lacli.bench.sessions.task` reads one JSON object on stdin (settings, prompts, max_tokens, rows) and writes
one list. Each prompt is answered by the real assistant, whose pool learns; then it is decoded plainly, for comparison,
which teaches nobody anything. A reply counts up to where it begins to loop. Started by `sessions`.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import replace
from typing import Any

from lacli.assistant.assistant import Assistant
from lacli.assistant.base import Report, ignore
from lacli.assistant.loaded import Loaded
from lacli.bench.loops import loop_start
from lacli.bench.modes import PLAIN
from lacli.bench.runner import Bench
from lacli.bench.suites import Case
from lacli.config import Settings
from lacli.engine.controller import Controller
from lacli.engine.cost import CostCurve
from lacli.errors import LacliError
from lacli.events import Finished, Message, Piece, Request


class OpenedAssistant(Assistant):
    """An assistant whose parts can be looked at, and which may have rows for free."""

    def __init__(self, settings: Settings, rows: int | None) -> None:
        super().__init__(settings)
        self._rows = rows

    def open(self, report: Report = ignore) -> None:
        """See `Replier.open`."""
        fresh = self.loaded is None
        super().open(report)
        if fresh and self._rows is not None:
            limits = replace(self.parts.controller.limits, max_rows=self._rows)
            self.parts.controller = Controller(CostCurve.flat(), limits)

    @property
    def parts(self) -> Loaded:
        """What it consists of, once it is open."""
        assert self.loaded is not None
        return self.loaded


def answered(assistant: OpenedAssistant, prompt: str, max_tokens: int) -> dict[str, Any]:
    """One prompt: its figures, up to where the reply begins to loop."""
    request = Request(messages=(Message("user", prompt),), max_tokens=max_tokens)
    marks: list[tuple[int, int, int, float]] = []  # after each step: tokens, steps, rows, milliseconds
    sources: list[str] = []
    finished: Finished | None = None
    for event in assistant.reply(request):
        if isinstance(event, Piece):
            stats = event.stats
            marks.append((stats.predicted_n, stats.steps, stats.rows, 1000 * time.perf_counter()))
            sources.extend(event.sources)
        elif isinstance(event, Finished):
            finished = event
    assert finished is not None
    keep = loop_start(finished.token_ids)
    bench = Bench(assistant.parts, max_tokens)
    task = bench.task(Case("task", "sessions", prompt))
    plain = bench.play(task, PLAIN, assistant.parts.cached)
    end = next((mark for mark in marks if mark[0] >= keep), marks[-1])
    spent_ms = end[3] - marks[0][3]
    speed = 1000 * (keep - 1) / spent_ms if end[1] and keep else None
    plain_speed = plain.tokens_per_second
    return {
        "tokens": keep,
        "looped": 1 - keep / len(finished.token_ids) if finished.token_ids else 0.0,
        "steps": end[1],
        "tokens_per_step": (keep - 1) / end[1] if end[1] and keep else None,
        "rows_per_step": end[2] / end[1] if end[1] else None,
        "tokens_per_second": speed,
        "ratio_to_plain": speed / plain_speed if speed and plain_speed else None,
        "equal_to_plain": finished.token_ids[:keep] == plain.token_ids,
        "accepted_by_source": dict(Counter(source for source in sources[:keep] if source)),
        "pool_tokens": finished.stats.pool_size,
        "token_ids": finished.token_ids[:keep],
        "prompt_ids": task.prompt,
    }


def main() -> int:
    """Answer what stdin asks."""
    order = json.load(sys.stdin)
    assistant = OpenedAssistant(Settings(**order["settings"]), order["rows"])
    try:
        answers = [answered(assistant, prompt, order["max_tokens"]) for prompt in order["prompts"]]
    except LacliError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    finally:
        assistant.close()
    json.dump(answers, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
