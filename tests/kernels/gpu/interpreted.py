"""Products in Triton's interpreter, in a process of its own: `python -m tests.kernels.gpu.interpreted CASES`.

CASES is a JSON list of `Case`s as lists; prints their `Outcome`s likewise.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # read when kernels are defined, so before their import

import numpy as np
import torch
import triton.runtime.interpreter as interpreter
from torch import Tensor

from tests.kernels.gpu.interpreted_cases import Case, Outcome


def _allow_new_numpy() -> None:
    """Triton before 3.9 takes `int` of arrays with one element, which NumPy 2.4 refuses."""
    original = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        original(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patched


def weights(kind: str, outputs: int, columns: int) -> tuple[Any, Tensor]:
    """A `PackedWeight` of random numbers, and what it stands for by somebody else's account."""
    import bitsandbytes.functional as bnb

    from lacli.kernels import packing
    from lacli.kernels.triton.weights import from_bitsandbytes_int8, from_bitsandbytes_nf4, from_blocks

    generator = torch.Generator().manual_seed(columns)
    drawn = torch.randn(outputs, columns, generator=generator)
    if kind.startswith("nf4"):
        data, state = bnb.quantize_4bit(drawn, blocksize=64, quant_type="nf4", compress_statistics=kind != "nf4-plain")
        packed = from_bitsandbytes_nf4(data, state, rounded=kind == "nf4-rounded")
        return packed, bnb.dequantize_4bit(data, state)
    if kind == "int8":
        values, maxima, _ = bnb.int8_vectorwise_quant(drawn.half())
        return from_bitsandbytes_int8(values, maxima), values.float() * maxima[:, None] / 127
    if kind.startswith("int8"):
        blocks = packing.quantise(drawn.numpy(), 8)
        if kind == "int8-blocks-minima":
            blocks = packing.Blocks(blocks.values, blocks.scales, blocks.scales[::-1].copy(), 8)
    else:
        blocks = packing.quantise(drawn.numpy(), 4)
        if kind == "int4-symmetric":
            blocks = packing.Blocks(blocks.values, blocks.scales, None, 4)
    return from_blocks(blocks), torch.from_numpy(packing.dequantise(blocks))


def compare(case: Case) -> Outcome:
    """Multiply, and hold the result against float64."""
    from lacli.kernels.triton.small_m import matmul
    from lacli.kernels.triton.targets import Configuration, Target, configurations

    packed, wanted = weights(case.kind, case.outputs, case.columns)
    x = torch.randn(case.rows, case.columns, generator=torch.Generator().manual_seed(case.rows)).to(torch.bfloat16)
    chosen = configurations(packed, case.rows, Target(86, 28))[0]
    if case.shares is not None:
        chosen = Configuration(chosen.tiling, case.shares)
    y = matmul(x, packed, chosen, torch.float32)

    def error(weight: Tensor) -> float:
        exact = x.double() @ weight.double().T
        return float((y - exact).abs().max() / exact.abs().max())

    if case.values_only:
        return Outcome(error(wanted), error(packed.dequantised()), True, True)
    others = x.clone()
    others[1:] = float("nan")
    apart = torch.equal(matmul(others, packed, chosen, torch.float32)[0], y[0])
    half = matmul(x, packed, chosen)
    rounded = half.dtype == torch.bfloat16 and bool(((half - y).abs() <= y.abs() * 2.0**-7).all())
    return Outcome(error(wanted), error(packed.dequantised()), apart, rounded)


if __name__ == "__main__":
    _allow_new_numpy()
    np.seterr(all="ignore")  # of the rows that are NaN
    print(json.dumps([compare(Case(*case)) for case in json.loads(sys.argv[1])]))
