"""Suite `sessions`: twenty tasks in a small project over two days, each its own process, with the real assistant.

The project stands in a repository of its own, what is learned in homes of their own (`bench.workplace`). Day 2 is
played three times: with the pool that day 1 left, with an empty pool for each task, and with a pool filled by prompts
that have nothing to do with the project. What a task needs of a model is done in `session_task`, in the child.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from lacli.bench.suites import load_suites, runs
from lacli.bench.workplace import environment, new_home, new_repository, workplace
from lacli.config import Settings
from lacli.errors import LacliError
from lacli.events import Attachment
from lacli.prompts.content import composed

DAYS = (1, 2)
_UNRELATED = 5  # prompts of prose and of code each that fill the unrelated pool
_TWIN = 0.5
_LEAST_OWN = 12
_RUN = 6


@dataclass(frozen=True, slots=True)
class SessionTask:
    """One thing asked for."""

    name: str
    day: int
    kind: str
    """write, test, rename, fix or document"""
    prompt: str
    """What `cat file | lacli ask "…"` gives the model."""
    again: str
    """The earlier task it asks for once more; "" where it asks for something new."""


@dataclass(frozen=True, slots=True)
class Played:
    """A task with what came of it."""

    task: SessionTask
    pool: str
    """kept: all tasks before; empty: nothing; unrelated: prompts of other suites"""
    figures: dict[str, Any]
    """As `session_task` gives them."""
    twin: str = ""
    """An earlier task whose reply says half of what this one's adds to its prompt."""

    @property
    def apart(self) -> bool:
        """Whether it is left out of the means: a regeneration, or a reply nearly given before."""
        return bool(self.task.again or self.twin)


def load_project() -> dict[str, str]:
    """The files of the project by their path."""
    return {entry["path"]: entry["text"] for entry in _table("project.toml")["file"]}


def load_tasks() -> tuple[SessionTask, ...]:
    """All tasks in their order."""
    files = load_project()
    tasks = []
    for entry in _table("days.toml")["task"]:
        text = files[entry["file"]]
        if "lines" in entry:
            first, last = entry["lines"]
            text = "".join(text.splitlines(keepends=True)[first - 1 : last])
        prompt = composed(entry["ask"], (Attachment("stdin", text),))
        tasks.append(SessionTask(entry["name"], entry["day"], entry["kind"], prompt, entry.get("again", "")))
    return tuple(tasks)


def play_sessions(
    settings: Settings, max_tokens: int, rows: int | None, limit: int | None, progress: Callable[[str], None]
) -> list[Played]:
    """Both days, then the second with other pools. limit: only the first tasks of each day."""
    tasks = load_tasks()
    days = {day: [task for task in tasks if task.day == day][:limit] for day in DAYS}
    played: list[Played] = []
    with workplace("sessions") as place:
        play = _Player(place, settings, max_tokens, rows)
        kept = play.home("kept")
        for task in (*days[1], *days[2]):
            progress(f"day {task.day}: {task.name}")
            played.append(_with_twin(Played(task, "kept", play(kept, [task.prompt])[0]), played))
        twins = {one.task.name: one.twin for one in played}
        progress("filling an unrelated pool")
        filled = play.home("unrelated")
        play(filled, [case.prompt for suite in ("prose", "code") for case in load_suites(suite, _UNRELATED)])
        for task in days[2]:
            for pool, start in (("empty", None), ("unrelated", filled)):
                progress(f"day 2, {pool} pool: {task.name}")
                home = play.home("once", start)
                played.append(Played(task, pool, play(home, [task.prompt])[0], twins[task.name]))
                shutil.rmtree(home)
    return played


def _table(name: str) -> dict[str, Any]:
    file = resources.files("lacli.bench") / "suites" / "sessions" / name
    return tomllib.loads(file.read_text(encoding="utf-8"))


class _Player:
    """Runs tasks in processes of their own."""

    def __init__(self, place: Path, settings: Settings, max_tokens: int, rows: int | None) -> None:
        self._place = place
        self._repository = new_repository(place / "taskq", load_project())
        model = settings.model
        if model is not None and os.path.exists(model):
            model = os.path.abspath(model)
        chosen = dataclasses.replace(settings, model=model, folder=None, pool=True, learn=True, lookahead=True)
        self._order = {"settings": dataclasses.asdict(chosen), "max_tokens": max_tokens, "rows": rows}

    def home(self, name: str, like: Path | None = None) -> Path:
        """A new LACLI_HOME with the user's models, and nothing learned but what `like` holds."""
        return new_home(self._place / name, like)

    def __call__(self, home: Path, prompts: Sequence[str]) -> list[dict[str, Any]]:
        """One process that answers these prompts one after the other."""
        done = subprocess.run(
            [sys.executable, "-m", "lacli.bench.sessions.task"],
            input=json.dumps(self._order | {"prompts": list(prompts)}),
            capture_output=True,
            encoding="utf-8",
            cwd=self._repository,
            env=environment(home),
        )
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["nothing was said"]
            raise LacliError(f"a task of the bench failed: {last[0]}")
        answers: list[dict[str, Any]] = json.loads(done.stdout)
        return answers


def _with_twin(one: Played, before: Sequence[Played]) -> Played:
    own = runs(one.figures["token_ids"], _RUN) - runs(one.figures["prompt_ids"], _RUN)
    for earlier in before:
        shared = own & runs(earlier.figures["token_ids"], _RUN)
        if len(own) >= _LEAST_OWN and len(shared) >= _TWIN * len(own) and not one.task.again:
            return dataclasses.replace(one, twin=earlier.task.name)
    return one
