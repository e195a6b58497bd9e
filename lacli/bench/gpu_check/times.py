"""Times on a device: steps of whole models, matrices by each kernel, attention alone, the bandwidth of a copy."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from lacli.bench.gpu_check.plan import Plan, Shape, Stopwatch
from lacli.bench.gpu_check.random_models import model_of
from lacli.models.base import Quant, Rows
from lacli.models.runners.dtype import dtype_on
from lacli.models.runners.fused.device.attention import Style, TreeAttention, flash_past, reference_past
from lacli.models.runners.fused.device.buckets import ROWS
from lacli.models.runners.fused.device.graphs import Calls
from lacli.models.runners.fused.device.inputs import StepInputs
from lacli.models.runners.fused.device.linears import Dense, Int8, Nf4, Way
from lacli.models.runners.fused.device.load import runner_of
from lacli.models.runners.fused.device.runner import DeviceRunner


def bandwidth(plan: Plan) -> float:
    """GB/s read and written by a copy within the device."""
    source = torch.zeros(plan.copied_bytes, dtype=torch.uint8, device=plan.device)
    target = torch.empty_like(source)
    ms = Stopwatch(plan.device).each_ms(lambda: target.copy_(source), plan.repeats)
    return 2 * plan.copied_bytes / ms / 1e6


def steps(plan: Plan, shape: Shape, quant: Quant, gb_s: float) -> dict[str, Any]:
    """T(M) of a whole model, and the same without graphs; what reading its weights alone would take."""
    model, tuner, read = model_of(shape, quant, plan.context + 128, plan.device, dtype_on(plan.device))
    runner = runner_of(model)
    graphs = _step_ms(plan, runner, plan.rows)
    runner.use(replays=Calls())
    calls = _step_ms(plan, runner, (plan.rows[0], plan.rows[-1]))
    watch, prompt = Stopwatch(plan.device), [7] * plan.context

    def prefill() -> None:
        runner.truncate(0)
        runner.prefill(prompt)

    one = graphs[plan.rows[0]]
    floor = read / gb_s / 1e6
    return {
        "context": plan.context,
        "ms": graphs,
        "over_one_row": {rows: ms / one for rows, ms in graphs.items()},
        "ms_without_graphs": calls,
        "weights_gb": read / 1e9,
        "ms_of_reading_them": floor,
        "over_reading": one / floor,
        "prefill_tokens_per_s": plan.context / watch.ms(prefill, max(1, plan.repeats // 5)) * 1000,
        "kernels": tuner.choices,
        "notes": runner.notes,
    }


def _step_ms(plan: Plan, runner: DeviceRunner, rows: tuple[int, ...]) -> dict[int, float]:
    """Of a forward with its small copy, behind the plan's context."""
    runner.truncate(0)
    runner.prefill([7] * plan.context)
    watch, found = Stopwatch(plan.device), {}
    for count in rows:
        chain = Rows((3,) * count, tuple(range(-1, count - 1)), tuple(range(count)))
        found[count] = watch.ms(lambda chain=chain: runner.forward(chain), plan.repeats)  # type: ignore[misc]
    return found


def matrices(plan: Plan, shape: Shape, gb_s: float) -> dict[str, Any]:
    """Each matrix of a layer by each kernel that is here: time, error against float64, share of the bandwidth, and
    whether a row's result has the same bits with so many rows as alone.

    Also for twice as many rows as a step has: whether wider steps would pay.
    """
    dtype, watch = dtype_on(plan.device), Stopwatch(plan.device)
    found: dict[str, Any] = {}
    for name, (rows, columns) in shape.matrices().items():
        weight = random_weight(rows, columns, plan.device, dtype)
        found[name] = {}
        for kind, way, exact, size in ways_of(weight):
            if way.name == "triton" and dtype != torch.bfloat16:  # it takes no other activations
                continue
            timed: dict[int, Any] = {}
            every = torch.randn(2 * plan.rows[-1], columns, device=plan.device).to(dtype)
            alone = way.run(every[:1])
            for count in (*plan.rows, 2 * plan.rows[-1]):
                if count > way.most_rows:
                    continue
                x = every[:count]
                ms = watch.each_ms(lambda way=way, x=x: way.run(x), plan.repeats)  # type: ignore[misc]
                timed[count] = {
                    "ms": ms,
                    "error": error_of(way, x, exact),
                    "of_bandwidth": size / ms / 1e6 / gb_s,
                    "same_bits_as_alone": torch.equal(way.run(x)[:1], alone),
                }
            found[name][f"{kind} {way.name}"] = timed
    return found


def error_of(way: Way, x: Tensor, exact: Tensor) -> float:
    """Of a kernel against float64, by the norm of the result."""
    expected = x.double() @ exact.double().T
    return float((way.run(x).double() - expected).norm() / expected.norm())


def random_weight(rows: int, columns: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    """A matrix whose products are about as large as what it is multiplied by."""
    return (torch.randn(rows, columns, device=device) * columns**-0.5).to(dtype)


def ways_of(weight: Tensor) -> Iterator[tuple[str, Way, Tensor, int]]:
    """(format, kernel, the weights it stands for, its bytes)"""
    yield "none", Way("torch", Dense(weight)), weight, weight.nbytes
    nf4 = Nf4.of(weight, None)
    from bitsandbytes.functional import dequantize_4bit

    exact = dequantize_4bit(nf4.packed, nf4.state)
    for way in nf4.ways():
        yield "nf4", way, exact, nf4.packed.nbytes + nf4.state.absmax.nbytes
    int8 = Int8.of(weight, None)
    exact = int8.packed.float() * int8.scales[:, None] / 127
    for way in int8.ways():
        yield "bnb-int8", way, exact, int8.packed.nbytes
    if weight.is_cuda and find_spec("triton") is not None:
        yield from _int4(weight)


def _int4(weight: Tensor) -> Iterator[tuple[str, Way, Tensor, int]]:
    """Blocks of 32 as our own files and GGUF have them, which only our Triton kernel reads on a device."""
    from lacli.kernels.packing import quantise

    try:
        weights, small_m = (importlib.import_module(f"lacli.kernels.triton.{name}") for name in ("weights", "small_m"))
    except ImportError:
        return
    packed = weights.from_blocks(quantise(weight.float().cpu().numpy(), 4), weight.device)
    yield "int4", Way("triton", lambda x: small_m.matmul(x, packed), ROWS[-1]), packed.dequantised(), packed.nbytes


def attention(plan: Plan, shape: Shape, gb_s: float) -> dict[str, Any]:
    """One layer's attention by each way, by context and rows: time, share of the bandwidth at which it reads keys and
    values."""
    dtype, watch = dtype_on(plan.device), Stopwatch(plan.device)
    ways = {"masked": None, "merged reference": reference_past}
    if plan.device.type == "cuda" and dtype == torch.bfloat16:
        ways["merged flash"] = flash_past
    found: dict[str, Any] = {name: {} for name in ways}
    for context in plan.contexts:
        slots = -(-(context + ROWS[-1]) // 64) * 64
        stored = tuple(
            torch.randn(slots, shape.kv_heads, shape.head_dim, device=plan.device).to(dtype) for _ in range(2)
        )
        for count in (plan.rows[0], 16, 64):
            inputs = StepInputs(count, 1, plan.device)
            inputs.fill(Rows((0,) * count, tuple(range(-1, count - 1)), (0,)), context)
            queries = torch.randn(count, shape.heads, shape.head_dim, device=plan.device).to(dtype)
            new = (queries[:, : shape.kv_heads].contiguous(), queries[:, : shape.kv_heads].contiguous())
            for name, past in ways.items():
                style = Style(shape.head_dim**-0.5, past=past, merged_from=0)

                def once(style: Style = style, inputs: StepInputs = inputs) -> Tensor:
                    places = inputs.positions(), inputs.slots(), inputs.length, inputs.seen()
                    return TreeAttention(style, *places)(queries, new, stored, 0)  # type: ignore[arg-type] # noqa: B023

                ms, read = watch.each_ms(once, max(1, plan.repeats // 4)), sum(part.nbytes for part in stored)
                found[name].setdefault(context, {})[count] = {"ms": ms, "of_bandwidth": read / ms / 1e6 / gb_s}
    return found
