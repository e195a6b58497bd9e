"""`lacli doctor --deep` on the side of the card: its lines without a device, and all of its control flow on a CPU."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from lacli.bench.gpu_check import deep
from lacli.bench.gpu_check.plan import Plan
from lacli.models.runners.fused.device import tuned
from lacli.models.runners.fused.device.linears import BUCKETS, Chosen, Way
from lacli.shared.health import Check
from tests.models.conftest import one_thread  # noqa: F401

pytestmark = pytest.mark.usefixtures("one_thread")

PLAN = Plan.of(torch.device("cpu"), 0.0)


@pytest.fixture
def fast_graphs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Graphs are not tried; what is said of them."""
    said = {"graphs_against_calls": 0.0, "merged_against_masked": 1e-7, "notes": ()}
    monkeypatch.setattr(deep, "kernels", lambda plan: said)
    return said


def named(plan: Plan | None) -> dict[str, Check]:
    return {check.name: check for check in deep.checks(plan)}


def test_without_a_device_each_thing_that_cannot_be_asked_is_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert deep.main() == 0
    found = {line["name"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert list(found) == ["driver", "build", "bnb 4-bit", "triton", "linears", "graphs", "free"]
    assert {line["state"] for line in found.values()} == {"ok"}
    for name in ("linears", "graphs", "free"):
        assert found[name]["text"] == "cannot be asked, as there is no CUDA device"


def test_every_matrix_is_computed_and_the_kernel_taken_is_named(fast_graphs: dict[str, Any]) -> None:
    found = named(PLAN)
    for name, size in (("qkv", "256x128"), ("output", "128x128"), ("gate_up", "512x128"), ("down", "128x256")):
        check = found[f"tiny {name}"]
        assert check.state == "ok", check
        assert check.text.startswith(f"{size}: none: torch; nf4: bitsandbytes; bnb-int8: bitsandbytes; errors up to ")
    assert "bit for bit" in found["graphs"].text


def test_a_kernel_that_is_wrong_or_fails_is_told(monkeypatch: pytest.MonkeyPatch, fast_graphs: dict[str, Any]) -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no kernel image\nfor this device")

    def ways(weight: torch.Tensor) -> Any:
        yield "nf4", Way("half", lambda x: x @ weight.T / 2), weight, 1
        yield "bnb-int8", Way("old", fails), weight, 1

    monkeypatch.setattr(deep, "ways_of", ways)
    check = named(PLAN)["tiny qkv"]
    assert check.state == "warn"
    assert "nf4 by half is wrong by 50% with 1 rows; bnb-int8 by old fails: no kernel image;" in check.text
    assert "gpu_check" in check.fix


def test_choices_made_at_a_load_are_told_and_none_are_kept(
    monkeypatch: pytest.MonkeyPatch, fast_graphs: dict[str, Any]
) -> None:
    def ways(weight: torch.Tensor) -> Any:
        for name in ("bitsandbytes", "triton"):
            yield "nf4", Way(name, lambda x: x @ weight.T), weight, 1

    rows = {str(bucket): "triton" if bucket <= 16 else "bitsandbytes" for bucket in BUCKETS}
    monkeypatch.setattr(deep, "ways_of", ways)
    monkeypatch.setattr(tuned, "read", lambda gpu: {"256x128 torch.float32 bitsandbytes | triton": rows})
    monkeypatch.setattr(tuned, "write", lambda *given: pytest.fail("a check keeps nothing"))
    assert "nf4: triton to 16 rows, bitsandbytes beyond;" in named(PLAN)["tiny qkv"].text


def test_a_kernel_for_all_rows_is_told_without_bounds() -> None:
    ways = [Way("one", lambda x: x), Way("two", lambda x: x)]
    assert deep._taken(Chosen(ways, dict.fromkeys(BUCKETS, 1)), ways) == "two"


def test_graphs_that_do_not_run_or_differ_are_warnings(fast_graphs: dict[str, Any]) -> None:
    fast_graphs["notes"] = ("CUDA graphs cannot be used on this device (odd)",)
    assert named(PLAN)["graphs"].state == "warn"
    fast_graphs |= {"notes": (), "graphs_against_calls": 0.5}
    assert "apart from eager steps by 5e-01" in named(PLAN)["graphs"].text
    assert named(PLAN)["graphs"].fix


def test_what_raises_is_a_line_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(plan: Plan) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate")

    monkeypatch.setattr(deep, "kernels", raises)
    found = named(PLAN)
    assert found["graphs"] == Check("graphs", "warn", "could not be checked: OutOfMemoryError: CUDA out of memory.")
    assert "free" in found


def test_a_build_for_other_cards_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    code, with_ptx = ["sm_80", "sm_90a", "sm_120"], ["sm_80", "compute_90"]
    for capability, made, fits in (
        ((8, 9), code, True),
        ((9, 0), code, True),
        ((12, 1), code, True),
        ((7, 5), code, False),
        ((10, 0), code, False),
        ((10, 0), with_ptx, True),
    ):
        monkeypatch.setattr(torch.cuda, "get_arch_list", lambda made=made: made)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda capability=capability: capability)
        text, fix = deep._build(True)
        assert f"the card is sm_{capability[0]}{capability[1]}" in text
        assert (fix == "") is fits, capability


def test_graphs_are_compared_on_a_cpu_too() -> None:
    assert named(PLAN)["graphs"].text.startswith("equal to eager steps, bit for bit; merged attention from masked by ")
