"""`lacli bench` from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lacli.bench.exact import Comparison, Difference
from lacli.bench.step_cost import step_times
from lacli.cli.app import main
from tests.bench.fakes import loaded_table
from tests.fakes import TableRunner


@pytest.fixture(autouse=True)
def _small_big_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacli.bench.warm.UNRELATED_TOKENS", 3000)


@pytest.mark.parametrize(
    "arguments", [["--suite", "poetry"], ["--rows", "1"], ["--rows", "65"], ["--limit", "0"], ["-n", "0"]]
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


def test_measuring_the_real_model_gives_one_document_and_touches_no_pool(
    sandbox_with_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--suite", "code", "--limit", "1", "-n", "4", "--rows", "8", "--json", "-q"]) == 0
    shown = capsys.readouterr()
    record = json.loads(shown.out)
    assert shown.err == ""
    assert record["machine"]["cpu"]
    assert {figure["mode"] for figure in record["figures"]} >= {"plain", "jacobi", "cold", "warm-replay"}
    assert all(figure["equal_to_plain"] for figure in record["figures"])
    assert set(record["step_ms"]) == {"1", "4", "8", "16", "32"}
    assert not (sandbox_with_model / "state").exists()


def test_exact_says_how_much_was_compared_and_fails_on_a_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    difference = Difference("edit", "inventory-rename", "warm-replay", 17, (1, 2), (3, 4))
    results = iter([Comparison(2, 22, 1408, ()), Comparison(2, 22, 1408, (difference,))])
    monkeypatch.setattr("lacli.bench.exact.compare", lambda *arguments: next(results))
    monkeypatch.setattr("lacli.loading.load", lambda settings, report: loaded_table())
    assert main(["bench", "--suite", "edit", "--exact"]) == 0
    assert "22 of 22 texts (1,408 tokens, 2 prompts) equal" in capsys.readouterr().out
    assert main(["bench", "--suite", "edit", "--exact"]) == 1
    shown = capsys.readouterr().out
    assert "edit inventory-rename, warm-replay, token 17" in shown
    assert "21 of 22 texts" in shown


def test_one_prompt_is_no_prompts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("lacli.bench.exact.compare", lambda *arguments: Comparison(1, 2, 9, ()))
    monkeypatch.setattr("lacli.loading.load", lambda settings, report: loaded_table())
    main(["bench", "--suite", "edit", "--exact"])
    assert "(9 tokens, 1 prompt)" in capsys.readouterr().out


def test_the_table_explains_its_rows(sandbox_with_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--suite", "code", "--limit", "1", "-n", "4", "--rows", "8"]) == 0
    shown = capsys.readouterr().out
    assert "code: 1 prompt," in shown
    for name in ("plain", "jacobi", "cold", "warm-similar", "warm-replay", "T(M)"):
        assert f"{name}: " in shown
