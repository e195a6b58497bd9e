"""The script for CUDA machines: all of its control flow on a CPU, and what it says where there is no device."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from lacli.bench.gpu_check import __main__ as script
from lacli.bench.gpu_check import equality, times
from lacli.bench.gpu_check.plan import Plan
from lacli.errors import LacliError
from tests.models.conftest import one_thread  # noqa: F401

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The dry run's plan with as little of everything as there can be."""
    plan = dataclasses.replace(
        Plan.of(CPU, 300.0), families=(), quants=("none",), rows=(1, 16), contexts=(40,), repeats=1, flips=17
    )
    monkeypatch.setattr(Plan, "of", staticmethod(lambda device, seconds: dataclasses.replace(plan, seconds=seconds)))
    return plan


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device")
def test_without_a_device_it_says_so_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main([]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "--dry-run" in said.err


def test_the_dry_run_does_all_of_it(small: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "check.json"
    assert script.main(["--dry-run", "--out", str(file)]) == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["failed"] == {}
    assert found["left_out"] == []
    assert {name for name, _ in script.sections(small, None)} <= found.keys()
    assert found["kernels"]["graphs_against_calls"] == 0.0
    assert 0.0 < found["kernels"]["merged_against_masked"] < 1e-5
    assert found["kernels"]["strict_chains_against_single_rows"] == 0.0
    assert found["flips"]["16"]["tokens"] == 17
    steps = found["steps tiny none"]
    assert set(steps["ms"]) == {"1", "16"}
    assert steps["over_one_row"]["1"] == 1.0
    for kernels in found["matrices tiny"].values():
        assert {"none torch", "nf4 bitsandbytes", "bnb-int8 bitsandbytes"} <= kernels.keys()
        assert kernels["nf4 bitsandbytes"]["1"]["error"] < 1e-5
        assert all(each["1"]["same_bits_as_alone"] for each in kernels.values())
        assert set(kernels["none torch"]) == {"1", "16", "32"}
    assert set(found["attention"]) == {"masked", "merged reference"}
    assert all(one["of_bandwidth"] > 0 for one in found["attention"]["masked"]["40"].values())
    said = capsys.readouterr().out
    assert "attention masked, one row by context (share of the copy bandwidth): 40 " in said
    assert f"written to {file}" in said


def test_what_fails_is_told_and_the_rest_goes_on(
    small: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*given: Any) -> Any:
        raise RuntimeError("CUDA error: an illegal memory access\nand much more")

    class CompilationError(Exception):
        """As Triton's: no RuntimeError."""

    def fails_to_compile(*given: Any) -> Any:
        raise CompilationError("no such instruction")

    monkeypatch.setattr(equality, "kernels", fails)
    monkeypatch.setattr(equality, "families", fails_to_compile)
    monkeypatch.setattr(times, "matrices", fails)
    file = tmp_path / "check.json"
    assert script.main(["--dry-run", "--out", str(file)]) == 1
    found = json.loads(file.read_text(encoding="utf-8"))
    assert set(found["failed"]) == {"families", "kernels", "matrices tiny"}
    assert "attention" in found
    assert "FAILED kernels: RuntimeError: CUDA error: an illegal memory access\n" in capsys.readouterr().out


def test_without_a_bandwidth_only_what_needs_one_is_missing(
    small: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(plan: Plan) -> float:
        raise torch.OutOfMemoryError("no room for the copy")

    monkeypatch.setattr(times, "bandwidth", fails)
    file = tmp_path / "check.json"
    assert script.main(["--dry-run", "--out", str(file)]) == 1
    found = json.loads(file.read_text(encoding="utf-8"))
    assert set(found["failed"]) == {"copy_gb_s", "steps tiny none", "matrices tiny", "attention"}
    assert {"families", "kernels", "flips"} <= found.keys()


def test_sections_that_would_begin_too_late_are_left_out(small: Plan, tmp_path: Path) -> None:
    file = tmp_path / "check.json"
    assert script.main(["--dry-run", "--seconds", "0", "--out", str(file)]) == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["left_out"] == [name for name, _ in script.sections(small, None)]


def test_a_file_that_cannot_be_written_is_a_usage_error(
    small: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--dry-run", "--seconds", "0", "--out", str(tmp_path / "no" / "check.json")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_texts_of_a_model_that_is_not_there_are_a_failed_section(
    small: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*given: Any) -> Any:
        raise LacliError("there is no such model")

    for name in ("families", "kernels", "flips"):
        monkeypatch.setattr(equality, name, lambda plan: {})
    for name in ("steps", "matrices", "attention"):
        monkeypatch.setattr(times, name, lambda *given: {"over_one_row": {}, "ms": {1: 1.0}, "over_reading": 1.0})
    monkeypatch.setattr(script, "texts", missing)
    found = script.run(small, "none-of-these")
    assert found["failed"] == {"texts": "LacliError: there is no such model"}


@pytest.mark.slow
def test_the_whole_dry_run(tmp_path: Path) -> None:
    file = tmp_path / "check.json"
    assert script.main(["--dry-run", "--out", str(file)]) == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["failed"] == {}
    for dtypes in found["families"].values():
        assert dtypes["float32"]["error"] < 1e-4
        assert dtypes["float32"]["flips"] == 0
