"""The hour of work is what it says, its figures add up, and real processes do it."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lacli.bench.edits.tasks import project
from lacli.bench.workday import __main__ as command
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
