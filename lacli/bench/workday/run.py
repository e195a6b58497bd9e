"""Has the hour of work done by processes of `lacli`, and makes figures of what they say of themselves."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from lacli.bench.edits.tasks import project
from lacli.bench.workday.day import Step, day
from lacli.bench.workday.engine import engine
from lacli.bench.workplace import environment, new_home, new_repository, workplace
from lacli.errors import LacliError
from lacli.kv import store

COMMANDS = ("complete", "ask", "edit")
_TOKENS = {"complete": ["-n", "24"], "ask": ["-n", "64"], "edit": []}
"""Most tokens of a reply; an edit gets what its part needs."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a process said of its reply."""

    command: str
    file: str
    prompt: int
    """Tokens of its prompt; of an edit those of all its tries."""
    computed: int
    ttft_ms: float
    wall_ms: float
    ahead: int = 0
    """Tokens that an engine read before it, while nobody waited."""

    @property
    def reused(self) -> int:
        """Prompt tokens that were not computed: in the store, or in memory after an earlier try."""
        return self.prompt - self.computed


@dataclass(frozen=True, slots=True)
class Hour:
    """The whole of it."""

    done: tuple[Done, ...]
    store_bytes: int


def work(model: str | None, limit: int | None, progress: Callable[[str], None], pause_s: float | None = None) -> Hour:
    """Each step in a process of its own. limit: only the first steps; pause_s: they attach to an engine, which has as
    many seconds at most between two of them."""
    model = os.path.abspath(model) if model is not None and os.path.exists(model) else model
    with workplace("workday") as place:
        home, root = new_home(place / "home"), new_repository(place / "project", project())
        variables = environment(home)
        with engine(root, variables, pause_s) if pause_s is not None else nullcontext(_no_rest) as rest:
            done = []
            for step in islice(day(), limit):
                progress(f"{step.command} {step.file} {step.words}")
                for name, text in step.changed.items():
                    (root / name).write_text(text, encoding="utf-8", newline="\n")
                done.append(_taken(step, model, root, variables))
                rest()
        kept = store.size(store.projects(home / "state" / "kv"))
    return Hour(tuple(done), kept.bytes)


def _no_rest() -> None:
    """Nothing reads ahead."""


def _taken(step: Step, model: str | None, root: Path, variables: Mapping[str, str]) -> Done:
    started = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-m", "lacli", *_words(step, model)],
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        cwd=root,
        env=dict(variables),
    )
    wall_ms = 1000 * (time.perf_counter() - started)
    lines = ended.stderr.strip().splitlines()
    said = next((json.loads(line) for line in reversed(lines) if line.startswith("{")), None)
    if said is None or (ended.returncode and step.command != "edit"):  # whether an edit is right is another bench's
        raise LacliError(f"{step.command} {step.file} failed: {(lines or ['nothing was said'])[-1]}")
    prompt = said["prompt_n"] + said["reused_n"]
    ahead = said.get("ahead_n", 0)
    return Done(step.command, step.file, prompt, said["prompt_n"], said["ttft_ms"], wall_ms, ahead)


def _words(step: Step, model: str | None) -> Iterator[str]:
    yield step.command
    if step.command == "complete":
        yield f"{step.file}:{step.words}"
    else:
        yield from ["-f", step.file, step.words] if step.command == "ask" else [step.file, step.words]
    yield from ["--stats", *_TOKENS[step.command]]
    yield from ["-m", model] if model is not None else []


def figures(hour: Hour) -> list[dict[str, Any]]:
    """A record for each command, then one for all."""
    groups = [(name, [one for one in hour.done if one.command == name]) for name in COMMANDS]
    return [_record(name, own) for name, own in (*groups, ("all", list(hour.done))) if own]


def _record(name: str, own: Sequence[Done]) -> dict[str, Any]:
    prompt, reused = sum(one.prompt for one in own), sum(one.reused for one in own)
    return {
        "command": name,
        "runs": len(own),
        "prompt_tokens": prompt,
        "reused": reused,
        "computed": prompt - reused,
        "not_computed": reused / max(1, prompt),
        "ahead": (ahead := sum(one.ahead for one in own)),
        "not_computed_at_all": (reused - ahead) / max(1, prompt),
        "ttft_ms": statistics.median(one.ttft_ms for one in own),
        "wall_ms": statistics.median(one.wall_ms for one in own),
    }


def records(hour: Hour) -> list[dict[str, Any]]:
    """One for each process, for programs."""
    return [asdict(one) | {"reused": one.reused} for one in hour.done]


def table(hour: Hour) -> Iterator[str]:
    """Aligned lines."""
    yield f"{'command':10}{'runs':>5}{'prompt':>10}{'reused':>10}{'computed':>10}{'reused':>8}{'first token':>13}"
    for found in figures(hour):
        yield (
            f"{found['command']:10}{found['runs']:5}{found['prompt_tokens']:10,}{found['reused']:10,}"
            f"{found['computed']:10,}{found['not_computed']:8.1%}{found['ttft_ms']:10,.0f} ms"
        )
    found = figures(hour)[-1] if hour.done else {"ahead": 0}
    if found["ahead"]:
        yield (
            f"{found['ahead']:,} tokens were read ahead while nobody waited; with these, "
            f"{found['not_computed_at_all']:.1%} was not computed"
        )
    yield f"the store holds {hour.store_bytes / 1e6:,.0f} MB"
