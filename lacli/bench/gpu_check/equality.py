"""Whether the forward for devices is right here: against float64, graphs against calls, one row against many."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lacli.bench.gpu_check.plan import TINY, Plan
from lacli.bench.gpu_check.random_models import float64_runner, model_of, tiny_folder
from lacli.models.base import Rows, Runner
from lacli.models.runners.dtype import dtype_on
from lacli.models.runners.fused.device.attention import reference_past
from lacli.models.runners.fused.device.config import DeviceConfig
from lacli.models.runners.fused.device.graphs import Calls
from lacli.models.runners.fused.device.load import load_device, runner_of
from lacli.models.runners.fused.device.step import StepModel
from lacli.models.runners.tensors import Tensors

_TREE = Rows((5, 9, 7, 3, 9, 8, 2), (-1, 0, 0, 1, 2, 3, 5), tuple(range(7)))
_PROMPT = 60


def families(plan: Plan) -> dict[str, Any]:
    """Each family in float32 and in the dtype of the device against float64 on the CPU: a prompt, a tree, a path kept,
    a chain. `error`: of a row's logits by their norm, the worst; `flips`: rows whose likeliest token is another."""
    found: dict[str, Any] = {}
    for family in plan.families:
        with tempfile.TemporaryDirectory(prefix="lacli-check-") as folder:
            stock, file = tiny_folder(family, Path(folder))
            expected = _logits(float64_runner(stock))
            config = DeviceConfig.read(stock.config.to_dict())
            assert config is not None
            found[family] = {}
            for dtype in dict.fromkeys((torch.float32, dtype_on(plan.device))):
                runner = load_device(Tensors([file]), config, "none", plan.device, dtype=dtype)
                logits = _logits(runner)
                found[family][str(dtype).removeprefix("torch.")] = {
                    "error": float(((logits - expected).norm(dim=1) / expected.norm(dim=1)).max()),
                    "flips": int((logits.argmax(dim=1) != expected.argmax(dim=1)).sum()),
                    "rows": len(logits),
                    "notes": runner.notes,
                }
    return found


def _logits(runner: Runner) -> Tensor:
    """float64 on the CPU."""
    runner.truncate(0)
    scores = runner.prefill([(7 * index + 3) % 251 for index in range(_PROMPT)])
    assert scores is not None
    found = [torch.as_tensor(scores.logits).clone()]
    found.append(torch.as_tensor(runner.forward(_TREE).logits).clone())
    runner.keep([0, 1, 3, 5, 6])
    chain = Rows(tuple(range(20)), tuple(range(-1, 19)), tuple(range(20)))
    found.append(torch.as_tensor(runner.forward(chain).logits).clone())
    return torch.cat([each.double().cpu() for each in found])


def kernels(plan: Plan) -> dict[str, Any]:
    """Graphs against calls, merged attention against masks, strict steps against each other, on a small model of the
    device's dtype: the greatest difference by the norm of the logits; 0 where bits are equal."""
    model = _small(plan)
    best, calls, masked = (runner_of(model) for _ in range(3))
    if best.style.past is None:  # no FlashAttention here: the merging can be checked all the same
        best.use(style=replace(best.style, past=reference_past))
    best.use(style=replace(best.style, merged_from=0))
    calls.use(style=best.style, replays=Calls())
    masked.use(style=replace(best.style, past=None, chain=None), replays=Calls())
    found = {name: _logits(runner) for name, runner in (("best", best), ("calls", calls), ("masked", masked))}
    strict = runner_of(model, strict=True)
    return {
        "notes": best.notes,
        "graphs_against_calls": _apart(found["best"], found["calls"]),
        "merged_against_masked": _apart(found["best"], found["masked"]),
        "strict_chains_against_single_rows": _apart(_read(strict, plan.flips, 16), _read(strict, plan.flips, 1)),
    }


def flips(plan: Plan) -> dict[str, Any]:
    """How often the likeliest token is another with many rows a step than with one, and how much logits move.

    Of random weights: their margins are smaller than a trained model's, so this is an upper bound.
    """
    runner = runner_of(_small(plan))
    one = _read(runner, plan.flips, 1)
    return {
        str(rows): {
            "tokens": plan.flips,
            "flips": int((many.argmax(dim=1) != one.argmax(dim=1)).sum()),
            "logits_move_by": float((many - one).abs().max()),
        }
        for rows in plan.rows
        if rows > 1
        for many in (_read(runner, plan.flips, rows),)
    }


def _small(plan: Plan) -> StepModel:
    """Two layers as wide as the smallest shape's."""
    shape = replace(plan.shapes[-1], layers=TINY.layers, vocab=min(plan.shapes[-1].vocab, 32_000))
    return model_of(shape, "none", 2048, plan.device, dtype_on(plan.device))[0]


def _read(runner: Runner, count: int, rows: int) -> Tensor:
    """Logits after each of `count` tokens read so many rows a step."""
    runner.truncate(0)
    runner.prefill([11] * 33)
    found = []
    for start in range(0, count, rows):
        ids = tuple((13 * index + 5) % runner.vocab_size for index in range(start, min(start + rows, count)))
        chain = Rows(ids, tuple(range(-1, len(ids) - 1)), tuple(range(len(ids))))
        found.append(torch.as_tensor(runner.forward(chain).logits).clone())
        runner.keep(range(len(ids)))
    return torch.cat(found).double().cpu()


def _apart(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())
