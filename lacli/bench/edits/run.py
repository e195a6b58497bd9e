"""Has the tasks done, each way in turn, and judges what becomes of the files.

Each attempt is cold: an assistant loaded anew, no pool, and an empty folder for a project, so that nothing of the
attempt before, nor of this suite's own answers, can be guessed from. Loading is not timed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lacli.assistant.base import Replier
from lacli.bench.edits.judge import judge
from lacli.bench.edits.tasks import Task, before
from lacli.bench.edits.ways import WAYS, Outcome, Way
from lacli.edits.write.diff import unified
from lacli.errors import LacliError
from lacli.events import Counts

Maker = Callable[[Path], Replier]
"""Makes an assistant, not yet loaded, for a project folder."""


@dataclass(frozen=True, slots=True)
class Run:
    """One task done one way."""

    task: int
    file: str
    kind: str
    language: str
    way: str
    """lacli or plain"""
    verdict: str
    why: str
    """What the verdict rests on, or what was said where the edit was refused."""
    code: int
    tries: int
    seconds: float
    """From the question to the file, without loading."""
    tokens: int
    tokens_per_step: float | None
    diff: str
    """What became of the file, to be read by people."""

    @classmethod
    def of(cls, record: dict[str, Any]) -> Run:
        """One that `record` kept."""
        return cls(**record)

    def record(self) -> dict[str, Any]:
        """For the file of results."""
        return asdict(self)

    def line(self) -> str:
        """For whoever waits."""
        steps = f"{self.tokens_per_step:.1f}" if self.tokens_per_step else "-"
        return (
            f"{self.task:>2} {self.way:<6}{self.verdict:<8}{self.seconds:>6.0f} s {self.tries} tries "
            f"{self.tokens:>5} tokens {steps:>5}/step  {self.kind}, {self.file}{f': {self.why}' if self.why else ''}"
        )


def runs(tasks: Sequence[Task], ways: Sequence[str], done: set[tuple[int, str]], make: Maker) -> Iterator[Run]:
    """All tasks each way; those that are done are left out. No way always goes first."""
    for task in tasks:
        shift = task.number % len(ways)
        for way in (*ways[shift:], *ways[:shift]):
            if (task.number, way) not in done:
                yield attempt(task, way, make)


def attempt(task: Task, way: str, make: Maker) -> Run:
    """One task done one way, on a copy of its file."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as project:
        path = Path(place) / Path(task.file).name
        path.write_bytes(before(task).encode())
        assistant = make(Path(project))
        try:
            assistant.open()
            started = time.perf_counter()
            outcome = _outcome(WAYS[way], assistant, path, task.instruction)
            seconds = time.perf_counter() - started
        finally:
            assistant.close()
        data = path.read_bytes()
    unchanged = data == before(task).encode()
    # whether it is said with an exit code or as "nothing changed": the file is as it was
    found = judge(task, data, outcome.code or int(unchanged))
    return Run(
        task=task.number,
        file=task.file,
        kind=task.kind,
        language=task.language,
        way=way,
        verdict=found.verdict,
        why=outcome.problem or found.why or ("nothing changed" if unchanged else ""),
        code=outcome.code,
        tries=outcome.tries,
        seconds=round(seconds, 2),
        tokens=outcome.stats.predicted_n,
        tokens_per_step=outcome.stats.tokens_per_step,
        diff=unified(before(task).encode(), data, task.file).decode("utf-8", "replace"),
    )


def _outcome(way: Way, assistant: Replier, path: Path, instruction: str) -> Outcome:
    try:
        return way(assistant, path, instruction)
    except LacliError as error:
        return Outcome(error.exit_code, 1, Counts(), error.message)
