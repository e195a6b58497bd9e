"""Which quantisation runs where none is asked for, and what a name means on a device."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from tiny_models import prepare_file, write_folder, write_gguf

from lacli.assistant import loading
from lacli.assistant.loading import load
from lacli.config import Settings
from lacli.kernels import library as kernels
from lacli.models.registry.choice import on_device
from lacli.paths import cache_dir


class TestChoice:
    """No quantisation asked for."""

    @pytest.mark.parametrize(("kind", "quant"), [("Q4_0", "int4"), ("Q5_1", "int8"), ("F32", "int8")])
    def test_a_source_in_4_bits_is_int4_and_others_int8(self, tmp_path: Path, kind: str, quant: str) -> None:
        path = write_gguf(tmp_path / "x.gguf", stored_as=lambda name: kind if "blk" in name else "Q8_0")
        for _ in range(2):  # made, and found there
            prepared = prepare_file(path, None)
            assert prepared.quant == quant
            assert prepared.packed_file.name == f"model.{quant}.safetensors"

    @pytest.mark.parametrize("folder", [True, False])
    def test_int4_is_taken_where_int8_does_not_fit_and_the_user_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
    ) -> None:
        path = write_folder(tmp_path / "model") if folder else write_gguf(tmp_path / "x.gguf")
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10_000))
        prepared = prepare_file(path, None)
        assert prepared.quant == "int4"
        assert any("free memory" in note for note in prepared.notes)
        assert prepare_file(path, "int8").quant == "int8"

    @pytest.mark.parametrize("folder", [True, False])
    def test_memory_that_comes_free_meanwhile_changes_no_choice(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
    ) -> None:
        path = write_folder(tmp_path / "model") if folder else write_gguf(tmp_path / "x.gguf")
        free = itertools.chain([10_000], itertools.repeat(10**15))
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=next(free)))
        prepared = prepare_file(path, None)
        assert (prepared.quant, prepared.packed_file.name) == ("int4", "model.int4.safetensors")
        assert any("free memory" in note for note in prepared.notes)

    @pytest.mark.parametrize(
        ("asked", "device", "runs"),
        [
            (None, "cuda", "nf4"),
            ("int4", "cuda", "nf4"),
            ("int8", "cuda", "bnb-int8"),
            ("none", "cuda", "none"),
            (None, "cpu", None),
            ("int4", "cpu", "int4"),
        ],
    )
    def test_names_of_the_cpu_mean_bitsandbytes_on_cuda(self, asked: Any, device: str, runs: str | None) -> None:
        quant, note = on_device(asked, device)
        assert quant == runs
        assert bool(note) == (asked is not None and quant != asked)

    @pytest.mark.parametrize(("kind", "quant"), [("Q4_0", "int4"), ("F32", "int8")])
    def test_it_is_what_is_loaded_and_curves_are_kept_by_it_and_by_the_kernel(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, quant: str
    ) -> None:
        from lacli.engine import cost

        monkeypatch.setattr(cost, "measure", lambda runner: (cost.CostCurve({1: 1.0, 64: 2.0}), True))
        path = write_gguf(tmp_path / "x.gguf", stored_as=lambda name: kind)
        loaded = load(
            Settings(model=str(path), device="cpu", threads=1, pool=False, folder=tmp_path), lambda event: None
        )
        loaded.close()
        assert loaded.quant == quant
        kept = next((cache_dir() / "curves").iterdir()).name
        assert f"-{quant}-cpu-{loaded.cached.runner.kernel}-1-" in kept


@pytest.mark.parametrize(
    ("built", "load_average", "passive"), [(True, 0.0, True), (False, 0.0, False), (False, 1e6, True)]
)
def test_openmp_spins_only_where_nobody_else_wants_the_cores(
    built: bool, load_average: float, passive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "library", lambda: object() if built else None)
    monkeypatch.setattr(os, "getloadavg", lambda: (load_average, 0.0, 0.0), raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", "")
    monkeypatch.delenv("OMP_WAIT_POLICY")
    loading._let_openmp_sleep()
    assert (os.environ.get("OMP_WAIT_POLICY") == "passive") == passive
