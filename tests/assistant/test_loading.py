"""loading.py: what lies in the cache folder is only believed where it can be right."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lacli import paths
from lacli.assistant import cost_cache, loading
from lacli.config import Settings
from lacli.engine import cost
from lacli.engine.cost import CostCurve
from lacli.errors import UsageError
from lacli.kernels import library

MEASURED = CostCurve({1: 10.0, 64: 20.0})


@pytest.fixture
def curve_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a curve that was measured and kept."""
    monkeypatch.setenv("LACLI_HOME", str(tmp_path))
    monkeypatch.setattr(cost, "measure", lambda runner: (MEASURED, True))
    assert curve() is MEASURED
    return next((paths.cache_dir() / "curves").iterdir())


def curve(device: str = "cpu") -> CostCurve:
    runner: Any = SimpleNamespace()
    return cost_cache.cost_curve(runner, "some-model", f"int8-{device}-0", device)


def test_a_measured_curve_is_kept(curve_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "measure", lambda runner: pytest.fail("measured again"))
    assert curve().points == MEASURED.points


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "{}", '{"1": 5}', '{"1": "x", "2": 3}', '{"1": -1, "2": 3}', '{"1": 1' + 400 * "0" + ', "2": 3}'],
    ids=range(8),
)
def test_a_damaged_one_is_measured_again(curve_file: Path, text: str) -> None:
    curve_file.write_text(text)
    assert curve() is MEASURED


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_what_is_no_file_is_not_waited_for(curve_file: Path) -> None:
    curve_file.unlink()
    os.mkfifo(curve_file)
    assert curve() is MEASURED


def test_one_measured_on_a_busy_machine_serves_for_a_while_and_not_beside_a_better_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LACLI_HOME", str(tmp_path))
    busy = CostCurve({1: 30.0, 64: 90.0})
    monkeypatch.setattr(cost, "measure", lambda runner: (busy, False))
    assert curve() is busy
    monkeypatch.setattr(cost, "measure", lambda runner: (MEASURED, True))
    assert curve().points == busy.points
    (file,) = (paths.cache_dir() / "curves").iterdir()
    long_ago = file.stat().st_mtime - 3600
    os.utime(file, (long_ago, long_ago))
    assert curve() is MEASURED
    os.utime(file)
    assert curve().points == MEASURED.points


def test_each_gpu_has_a_curve_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two in one machine, or a home folder that machines share: rows bought by the other one's prices are a loss."""
    monkeypatch.setenv("LACLI_HOME", str(tmp_path))
    measured = {"NVIDIA A (40 GB)": MEASURED, "NVIDIA B": CostCurve({1: 1.0, 64: 9.0})}
    for name, points in measured.items():
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda name=name: name)
        monkeypatch.setattr(cost, "measure", lambda runner, points=points: (points, True))
        assert curve("cuda") is points
    monkeypatch.setattr(cost, "measure", lambda runner: pytest.fail("measured again"))
    for name, points in measured.items():
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda name=name: name)
        assert curve("cuda").points == points.points


class TestMissingKernels:
    """They cost speed, and whoever installed without a compiler would not know."""

    @pytest.fixture(autouse=True)
    def missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("LACLI_KERNEL", raising=False)
        monkeypatch.setattr(library, "why_not", lambda: "there is no compiler")

    @pytest.mark.skipif(os.name != "posix", reason="they are built on POSIX systems only")
    @pytest.mark.parametrize("quant", ["int4", "int8", "none"])
    def test_are_told_in_one_line(self, quant: str) -> None:
        (note,) = loading._missing_kernels("torch", "cpu", quant)
        assert note.startswith("there is no compiler; ")
        assert "slower" in note

    @pytest.mark.parametrize(
        ("kernel", "device", "quant"), [("torch", "cuda", "nf4"), ("torch", "cpu", "nf4"), ("avx2", "cpu", "int8")]
    )
    def test_are_not_told_where_they_would_not_run(self, kernel: str, device: str, quant: str) -> None:
        assert loading._missing_kernels(kernel, device, quant) == ()

    def test_are_not_told_to_who_switched_them_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LACLI_KERNEL", "torch")
        assert loading._missing_kernels("torch", "cpu", "int8") == ()


@pytest.mark.parametrize(
    ("asked", "most", "bound"), [(None, 0, None), (None, 4096, 4096), (512, 4096, 512), (512, 0, 512)]
)
def test_the_context_is_as_asked_or_the_model_s(asked: int | None, most: int, bound: int | None) -> None:
    assert loading._context(Settings(context=asked), most, "m") == bound


def test_a_context_beyond_the_model_s_is_refused_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LACLI_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="--ctx 1000000 is more than the"):
        loading.load(Settings(context=1_000_000), lambda event: pytest.fail("something was done"))


@pytest.mark.skipif(sys.platform != "linux", reason="only there it is mapped ahead")
class TestMappingTorch:
    def test_its_largest_library_is_opened_through_a_call_that_frees_the_interpreter(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened: list[bytes] = []

        class System:
            def __init__(self, name: str | None) -> None:
                self.dlopen = lambda file, mode: opened.append(file)

        monkeypatch.delitem(sys.modules, "torch", raising=False)
        monkeypatch.setattr(ctypes, "CDLL", System)
        loading._preload_torch()
        assert [Path(os.fsdecode(file)).name for file in opened] == ["libtorch_cpu.so"]

    def test_nothing_is_done_where_it_is_imported_already(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "torch", ctypes)
        monkeypatch.setattr(ctypes, "CDLL", lambda name: pytest.fail("opened"))
        loading._preload_torch()
