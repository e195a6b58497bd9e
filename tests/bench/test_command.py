"""`lacli bench` from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lacli.bench.exact import Comparison, Difference
from lacli.bench.sessions.run import Played, load_tasks
from lacli.bench.step_cost import step_times
from lacli.cli.main import main
from lacli.kernels.library import library
from tests.bench.fakes import loaded_table
from tests.documented import keys_of, sections
from tests.fakes import TableRunner


@pytest.fixture(autouse=True)
def _small_big_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacli.bench.warm.UNRELATED_TOKENS", 3000)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--suite", "poetry"],
        ["--rows", "1"],
        ["--rows", "65"],
        ["--limit", "0"],
        ["-n", "0"],
        ["--exact", "--replay"],
        ["--suite", "sessions", "--exact"],
        ["--suite", "sessions", "--replay"],
    ],
)
def test_wrong_values_are_usage_errors_before_any_model_is_loaded(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("lacli: error: ")
    assert shown.err.count("\n") == 1


def test_options_that_mean_nothing_here_are_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--temperature", "1"]) == 2
    assert "--temperature" in capsys.readouterr().err


def test_step_times_have_every_size_and_leave_positive_numbers() -> None:
    times = step_times(TableRunner({}, vocab_size=64), rows=(1, 4, 8), repeats=2)
    assert list(times) == [1, 4, 8]
    assert all(milliseconds > 0 for milliseconds in times.values())


@pytest.mark.slow
def test_measuring_the_real_model_gives_one_document_and_touches_no_pool(
    sandbox_with_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--suite", "code", "--limit", "1", "-n", "4", "--rows", "8", "--json", "-q"]) == 0
    shown = capsys.readouterr()
    record = json.loads(shown.out)
    assert shown.err == ""
    assert record["machine"]["cpu"]
    found = library()
    assert record["model"]["kernel"] == (found.isa if found else "torch")
    assert {figure["mode"] for figure in record["figures"]} >= {"plain", "jacobi", "cold", "warm-replay"}
    assert all(figure["equal_to_plain"] for figure in record["figures"])
    assert set(record["step_ms"]) == {"1", "4", "8", "16", "32"}
    documented = sections()["lacli bench --json"]
    assert keys_of(record, documented) == documented - {"replay"}
    assert not (sandbox_with_model / "state").exists()


def test_exact_says_how_much_was_compared_and_fails_on_a_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    difference = Difference("edit", "inventory-rename", "warm-replay", 17, (1, 2), (3, 4))
    results = iter([Comparison(2, 22, 1408, ()), Comparison(2, 22, 1408, (difference,))])
    monkeypatch.setattr("lacli.bench.exact.compare", lambda *arguments, explained: next(results))
    monkeypatch.setattr("lacli.assistant.loading.load", lambda settings, report: loaded_table())
    assert main(["bench", "--suite", "edit", "--exact"]) == 0
    assert "22 of 22 texts (1,408 tokens, 2 prompts) equal" in capsys.readouterr().out
    assert main(["bench", "--suite", "edit", "--exact"]) == 1
    shown = capsys.readouterr().out
    assert "edit inventory-rename, warm-replay, token 17" in shown
    assert "21 of 22 texts" in shown


def test_explaining_is_for_exact(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--suite", "edit", "--explain-divergence"]) == 2
    assert "--explain-divergence explains what --exact finds" in capsys.readouterr().err


def test_one_prompt_is_no_prompts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("lacli.bench.exact.compare", lambda *arguments, explained: Comparison(1, 2, 9, ()))
    monkeypatch.setattr("lacli.assistant.loading.load", lambda settings, report: loaded_table())
    main(["bench", "--suite", "edit", "--exact"])
    assert "(9 tokens, 1 prompt)" in capsys.readouterr().out


def test_the_table_explains_its_rows(
    sandbox_with_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lacli.bench.step_cost.step_times", lambda runner: {1: 40.0, 4: 50.0})
    assert main(["bench", "--suite", "code", "--limit", "1", "-n", "2", "--rows", "8"]) == 0
    shown = capsys.readouterr().out
    assert "code: 1 prompt," in shown
    for name in ("plain", "jacobi", "cold", "warm-similar", "warm-replay", "T(M)"):
        assert f"{name}: " in shown


def test_a_replay_needs_the_model_once_and_says_that_times_are_not_measured(
    sandbox_with_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lacli.bench.replay.recording_path", lambda folder, *key: tmp_path / f"{len(str(key))}.npz")
    words = ["bench", "--suite", "code", "--limit", "1", "-n", "6", "--rows", "8", "--replay"]
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["replay"] is True
    assert keys_of(record, documented := sections()["lacli bench --json"]) <= documented
    assert {figure["mode"] for figure in record["figures"]} >= {"plain", "jacobi", "cold", "warm-replay", "big pool"}
    assert all(figure["equal_to_plain"] for figure in record["figures"])
    monkeypatch.setattr("lacli.bench.replay.record", lambda bench, case: pytest.fail("recorded twice"))
    assert main(words) == 0
    assert "the model did not run" in capsys.readouterr().out


def test_sessions_are_shown_task_by_task(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    figures = {
        **{"tokens": 40, "tokens_per_step": 2.0, "rows_per_step": 8.0, "ratio_to_plain": 1.5},
        **{"equal_to_plain": True, "token_ids": [1], "prompt_ids": [2]},
    }
    first, second = load_tasks()[0], load_tasks()[10]
    played = [Played(first, "kept", figures), Played(second, "kept", figures), Played(second, "empty", figures)]
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr("lacli.bench.sessions.run.play_sessions", lambda *words: asked.append(words) or played)
    assert main(["bench", "--suite", "sessions", "--limit", "1", "-n", "40", "--rows", "16"]) == 0
    shown = capsys.readouterr().out
    assert first.name in shown
    assert "day 2: 2.00 (1.00 x day 1)" in shown
    assert asked[0][1:4] == (40, 16, 1)
    assert main(["bench", "--suite", "sessions", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["summary"]["day_2_against_empty_pool"] == 1.0
    assert [run["pool"] for run in record["runs"]] == ["kept", "kept", "empty"]
    del record["runs"]
    documented = {key for key in sections()["lacli bench --suite sessions --json"] if not key.startswith("runs")}
    assert keys_of(record, documented) == documented
