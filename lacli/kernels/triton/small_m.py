"""y = x W^T for up to 64 rows and quantised W, through our Triton kernels.

Lives here: launches. May not: be imported where Triton is missing. Configurations to choose from come from
`targets.configurations`; nothing is timed here.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from lacli.kernels.triton import products
from lacli.kernels.triton.targets import MOST_ROWS, Configuration, Target, configurations
from lacli.kernels.triton.weights import TILE, PackedWeight

_INTERPRETED = bool(triton.knobs.runtime.interpret)
_OPERAND = tl.float32 if _INTERPRETED else tl.bfloat16
_PRETENDED = Target(86, 28)
"""What the interpreter computes as."""
_ADDED_AT_ONCE = 1024
_FUSED = {"enable_fp_fusion": True}
"""A product and its sum round once; Triton's default is about to become twice."""


@functools.cache
def target_of(device: torch.device) -> Target:
    """The target a device is."""
    if device.type != "cuda":
        return _PRETENDED
    properties = torch.cuda.get_device_properties(device)
    return Target(10 * properties.major + properties.minor, properties.multi_processor_count)


def matmul(
    x: Tensor, weight: PackedWeight, configuration: Configuration | None = None, dtype: torch.dtype | None = None
) -> Tensor:
    """x: bfloat16 [1..64, columns], contiguous -> [rows, outputs] as `dtype`, by default that of x.

    Sums are float32. Captured by CUDA graphs: nothing waits, and memory comes from PyTorch's allocator.
    """
    rows = x.shape[0]
    if x.dtype != torch.bfloat16 or x.shape[1:] != (weight.columns,) or not 1 <= rows <= MOST_ROWS:
        raise ValueError(f"x is {x.dtype} {list(x.shape)}, not bfloat16 [1..{MOST_ROWS}, {weight.columns}]")
    chosen = configuration or _default(weight, rows, target_of(x.device))
    y = torch.empty((rows, weight.outputs), dtype=dtype or x.dtype, device=x.device)
    if chosen.shares == 1:
        _launch(x.contiguous(), weight, chosen, y)
        return y
    parts = torch.empty((chosen.shares, *y.shape), dtype=torch.float32, device=x.device)
    _launch(x.contiguous(), weight, chosen, parts)
    grid = (triton.cdiv(y.numel(), _ADDED_AT_ONCE),)
    products.add_shares[grid](parts, y, y.numel(), chosen.shares, BLOCK=_ADDED_AT_ONCE, **_FUSED)
    return y


def _default(weight: PackedWeight, rows: int, target: Target) -> Configuration:
    offered = configurations(weight, rows, target)
    if not offered:
        raise ValueError(f"no Triton kernel for compute capability {target.capability}")
    return offered[0]


def _launch(x: Tensor, weight: PackedWeight, configuration: Configuration, y: Tensor) -> None:
    tiling = configuration.tiling
    grid = (triton.cdiv(weight.outputs, tiling.outputs), configuration.shares)
    sizes = (x.shape[0], weight.outputs, weight.columns, weight.tiles, triton.cdiv(weight.tiles, configuration.shares))
    common = {
        "BN": tiling.outputs,
        "BM": tiling.rows,
        "STAGES": tiling.stages,
        "EVEN": weight.columns % TILE == 0,
        "OPERAND": _OPERAND,
        "num_warps": tiling.warps,
        "maxnreg": tiling.registers,
        **_FUSED,
    }
    if weight.format == "nf4":
        products.nf4[grid](x, weight.words, weight.scales, weight.table, y, *sizes, TERMS=weight.terms, **common)
    elif weight.format == "int8":
        products.int8[grid](x, weight.words, weight.scales, y, *sizes, **common)
    else:
        _launch_blocks(x, weight, y, grid, sizes, common)


def _launch_blocks(
    x: Tensor,
    weight: PackedWeight,
    y: Tensor,
    grid: tuple[int, int],
    sizes: tuple[int, ...],
    common: dict[str, Any],
) -> None:
    kernel = products.int4 if weight.format == "int4" else products.int8_blocks
    minima = totals = weight.scales  # where there are no minima, neither is read
    if weight.minima is not None:
        blocks, rows = 4 * weight.tiles, common["BM"]
        minima = weight.minima
        totals = torch.empty((blocks, rows), dtype=torch.float32, device=x.device)
        products.add_blocks[(blocks, rows // 8)](x, totals, *x.shape, BM=rows, num_warps=2, **_FUSED)
    factors = (weight.scales, minima, totals)
    kernel[grid](x, weight.words, *factors, y, *sizes, MINIMA=weight.minima is not None, **common)
