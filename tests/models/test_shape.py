"""What a configuration says of a model's size, and of what lookahead can do for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lacli.models.registry import machine, shape
from lacli.models.registry.registry import load_registry, shipped_file
from tests.models.families import CONFIGS, PLAIN

MODELS = load_registry([shipped_file()]).models


@pytest.mark.parametrize("alias", [alias for alias, spec in MODELS.items() if spec.shape])
def test_the_sizes_in_the_registry_add_up_to_the_published_number_of_weights(alias: str) -> None:
    """All but norms and biases: a wrong digit in any of them would show."""
    spec = MODELS[alias]
    sizes = dict(spec.shape)
    if alias.startswith("starcoder2"):  # two matrices where others have three
        sizes["intermediate_size"] = sizes["intermediate_size"] * 2 // 3
    assert shape.parameters(sizes) == pytest.approx(spec.parameters, rel=5e-4)


@pytest.mark.parametrize("name", [*CONFIGS, *PLAIN])
def test_a_configuration_tells_whether_a_model_can_branch(name: str) -> None:
    """As the runner finds by trying: tests/models/test_generic_families.py."""
    config = {**CONFIGS, **PLAIN}[name]().to_dict()
    assert shape.decodes_plainly(config) == (name in PLAIN)


def test_a_mixture_of_experts_reads_the_chosen_ones_only() -> None:
    config = MODELS["qwen3-coder-30b-a3b"].shape
    embedding, experts = shape.unread(config)
    assert embedding == 151936 * 2048
    assert experts == 48 * 120 * 3 * 2048 * 768
    assert MODELS["qwen3-coder-30b-a3b"].parameters - embedding - experts == pytest.approx(3.0e9, rel=0.02)


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_card_that_cuda_may_not_see_does_not_count(hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    monkeypatch.setattr("shutil.which", lambda name: pytest.fail("asked"))
    assert machine.graphics_memory() is None


@pytest.mark.skipif(os.name != "posix", reason="needs a shell script as the program")
def test_the_first_card_that_cuda_may_see_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text('#!/bin/sh\n[ "$3 $4" = "-i 1" ] && echo "10, 20"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    assert machine.graphics_memory() == (10 << 20, 20 << 20)


def test_bandwidth_is_a_number_and_is_not_measured_where_memory_is_short() -> None:
    assert machine.read_bandwidth(8 << 30) > 1e8
    assert machine.read_bandwidth(1 << 20) == 0
