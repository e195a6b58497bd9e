"""The hour of work is what it says, its figures add up, and real processes do it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lacli.bench.edits.tasks import project
from lacli.bench.workday import __main__ as command
from lacli.bench.workday import engine as of_engine
from lacli.bench.workday import run as of_run
from lacli.bench.workday.day import day
from lacli.bench.workday.run import Done, Hour, figures, table, work
from lacli.errors import LacliError
from lacli.kernels.library import library

STEPS = list(day())


def test_it_has_sixty_completions_ten_questions_and_five_edits_in_twelve_files() -> None:
    assert Counter(step.command for step in STEPS) == {"complete": 60, "ask": 10, "edit": 5}
    assert len(project()) == 12
    assert {step.file for step in STEPS} <= project().keys()
    assert len({(step.command, step.file, step.words) for step in STEPS}) >= 65


def test_files_change_between_and_every_place_is_there() -> None:
    files = project()
    for step in STEPS:
        assert all(files[name] != text for name, text in step.changed.items())
        files |= step.changed
        if step.command == "complete":
            lines = files[step.file].split("\n")
            assert lines[int(step.words) - 1].strip() or step.changed
    assert sum(bool(step.changed) for step in STEPS) == 51  # fifty lines typed, one file set anew
    assert files != project()


def _said(prompt: int, reused: int) -> str:
    return f"lacli: a note\n{json.dumps({'prompt_n': prompt - reused, 'reused_n': reused, 'ttft_ms': 10.0})}\n"


def test_each_step_is_a_process_in_a_home_of_its_own_and_the_figures_add_up(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []

    def run(words: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        assert Path(more["env"]["LACLI_HOME"]) != sandbox
        assert (Path(more["cwd"]) / "dotenv" / "variables.py").is_file()
        ran.append(words[3:])
        return subprocess.CompletedProcess(words, 0, "", _said(100 * len(ran), 10))

    monkeypatch.setattr(of_run.subprocess, "run", run)
    hour = work("a-model", 4, lambda text: None)
    assert [words[0] for words in ran] == ["ask", "ask", "complete", "complete"]
    assert all(words[-2:] == ["-m", "a-model"] for words in ran)
    complete, ask, both = figures(hour)
    assert (ask["runs"], ask["prompt_tokens"], ask["reused"], ask["computed"]) == (2, 300, 20, 280)
    assert (complete["prompt_tokens"], both["prompt_tokens"], both["runs"]) == (700, 1000, 4)
    assert both["not_computed"] == 0.04
    assert "4.0%" in list(table(hour))[-2]


def test_with_an_engine_there_is_a_pause_behind_each_step_and_what_was_read_in_it_counts(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []

    @contextlib.contextmanager
    def engine(root: Path, variables: Mapping[str, str], pause_s: float) -> Iterator[Callable[[], None]]:
        assert Path(variables["LACLI_HOME"]) != sandbox
        happened.append("start")
        yield lambda: happened.append(f"rest {pause_s:.0f}")
        happened.append("stop")

    def run(words: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        happened.append(words[3])
        said = {"prompt_n": 20, "reused_n": 80, "ttft_ms": 10.0, "ahead_n": 10 * len(happened)}
        return subprocess.CompletedProcess(words, 0, "", json.dumps(said))

    monkeypatch.setattr(of_run, "engine", engine)
    monkeypatch.setattr(of_run.subprocess, "run", run)
    hour = work("a-model", 2, lambda text: None, pause_s=7)
    assert happened == ["start", "ask", "rest 7", "ask", "rest 7", "stop"]
    found = figures(hour)[-1]
    assert (found["computed"], found["ahead"]) == (40, 60)
    assert (found["not_computed"], found["not_computed_at_all"]) == (0.8, 0.5)
    assert any("60 tokens were read ahead" in line and "50.0%" in line for line in table(hour))


def test_a_pause_ends_when_the_worker_does_nothing_and_at_the_latest_where_that_cannot_be_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(of_engine, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=_passing(now)))
    used = {7: lambda: min(int(10 * now[0]), 30), 8: lambda: None, 9: lambda: now[0]}
    monkeypatch.setattr(of_engine, "_ticks", lambda pid: used[pid]())

    def paused(*workers: int) -> float:
        now[0] = 0.0
        of_engine._rest(list(workers), 10.0)
        return now[0]

    assert 4.0 <= paused(7) <= 4.5
    assert 10.0 <= paused(9) < 10.5
    assert 10.0 <= paused(7, 8) < 10.5
    assert 1.0 <= paused() < 1.5


def _passing(now: list[float]) -> Callable[[float], None]:
    def sleep(seconds: float) -> None:
        now[0] += seconds

    return sleep


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_processor_time_of_a_process_is_known_while_there_is_one() -> None:
    before = of_engine._ticks(os.getpid())
    assert before is not None
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    assert (of_engine._ticks(os.getpid()) or 0) > before
    assert of_engine._ticks(2**22 + 1) is None


def test_a_step_that_fails_is_said_and_an_edit_may_be_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(words: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 1, "", _said(10, 0) + "lacli: error: no\n")

    monkeypatch.setattr(of_run.subprocess, "run", run)
    refused = next(step for step in STEPS if step.command == "edit")
    assert of_run._taken(refused, None, tmp_path, {}).prompt == 10
    with pytest.raises(LacliError, match="failed: lacli: error: no"):
        of_run._taken(STEPS[0], None, tmp_path, {})


def test_without_a_run_nothing_is_divided() -> None:
    assert figures(Hour((), 0)) == []
    assert figures(Hour((Done("ask", "a", 0, 0, 1.0, 1.0),), 0))[0]["not_computed"] == 0


@pytest.mark.slow
@pytest.mark.skipif(library() is None, reason="the store serves our own kernels only")
def test_real_processes_take_what_those_before_have_read(
    sandbox_with_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--limit", "4", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    first, second, typed, more = printed["runs"]
    assert first["reused"] == 0
    assert second["computed"] < 128
    assert typed["command"] == more["command"] == "complete"
    assert more["computed"] < more["prompt"]
    assert printed["store_bytes"] > 0
    assert not (sandbox_with_model / "state").exists()
