"""Machine code of the kernels for a named target, made without a device.

Lives here: every kernel in every way it is launched, compiled as a launch would. May not: run anything. Needs a process
in which Triton does not interpret (`TRITON_INTERPRET` unset).
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from lacli.kernels.triton import products
from lacli.kernels.triton.targets import Tiling
from lacli.kernels.triton.weights import Format

_TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
_ALIGNED = [["tt.divisibility", 16]]
_SIZES = {name: "i32" for name in ("M", "N", "K", "tiles", "share")}
_DIVISIBLE = {"N", "K"}
"""Sizes that are multiples of 16 in every model; launches find out by themselves."""
_BLOCKS = {
    **{"x": "*bf16", "words": "*i32", "scales": "*fp16", "minima": "*fp16", "totals": "*fp32", "y": "*fp32"},
    **_SIZES,
}
_SIGNATURES: dict[Format, dict[str, str]] = {
    "nf4": {"x": "*bf16", "words": "*i32", "scales": "*fp32", "table": "*i32", "y": "*fp32", **_SIZES},
    "int4": _BLOCKS,
    "int8_blocks": _BLOCKS,
    "int8": {"x": "*bf16", "words": "*i32", "scales": "*fp32", "y": "*fp32", **_SIZES},
}


@dataclass(frozen=True, slots=True)
class Variant:
    """A kernel with what the weight decides."""

    name: str
    format: Format
    constants: Mapping[str, Any]
    bytes_per_weight: float
    """Read for a weight, its share of the scales included."""


VARIANTS = (
    Variant("nf4", "nf4", {"TERMS": 2}, 0.5 + 4 / 64),
    Variant("nf4 rounded", "nf4", {"TERMS": 1}, 0.5 + 4 / 64),
    Variant("int4", "int4", {"MINIMA": False}, 0.5 + 2 / 32),
    Variant("int4 minima", "int4", {"MINIMA": True}, 0.5 + 4 / 32),
    Variant("int8", "int8", {}, 1.0),
    Variant("int8 blocks", "int8_blocks", {"MINIMA": False}, 1 + 2 / 32),
    Variant("int8 blocks minima", "int8_blocks", {"MINIMA": True}, 1 + 4 / 32),
)


@dataclass(frozen=True, slots=True)
class MachineCode:
    """A compiled kernel as the assembler left it."""

    listing: str
    """As `nvdisasm -c` prints it."""
    registers: int
    """Of a thread."""
    stack_bytes: int
    """Of a thread: what does not fit into registers goes there."""
    order: tuple[str, ...]
    """How the tensor cores' operands are laid out, which decides the columns that one of their instructions adds."""
    shared_bytes: int
    """Of a block."""


def product(variant: Variant, tiling: Tiling, capability: int, even: bool = True) -> MachineCode:
    """A product's kernel; `even` where the columns are a multiple of 128."""
    constants = {
        "BN": tiling.outputs,
        "BM": tiling.rows,
        "STAGES": tiling.stages,
        "EVEN": even,
        "OPERAND": tl.bfloat16,
        **variant.constants,
    }
    kernel = getattr(products, variant.format)
    return _compiled(kernel, _SIGNATURES[variant.format], constants, capability, tiling.warps, tiling.registers)


def sums(capability: int) -> tuple[MachineCode, MachineCode]:
    """The two small kernels: what adds the shares of a split product, and the blocks of activations."""
    signature = {"parts": "*fp32", "y": "*bf16", "count": "i32", "shares": "i32"}
    shares = _compiled(products.add_shares, signature, {"BLOCK": 1024}, capability, 4)
    signature = {"x": "*bf16", "totals": "*fp32", "M": "i32", "K": "i32"}
    return shares, _compiled(products.add_blocks, signature, {"BM": 16}, capability, 2)


def _compiled(
    kernel: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    capability: int,
    warps: int,
    registers: int | None = None,
) -> MachineCode:
    aligned = [
        index
        for index, (name, kind) in enumerate(signature.items())
        if kind.startswith("*") or name in _DIVISIBLE | {"count"}
    ]
    source = ASTSource(
        kernel,
        signature={**signature, **dict.fromkeys(constants, "constexpr")},
        constexprs=dict(constants),
        attrs={(index,): _ALIGNED for index in aligned},
    )
    options = {"num_warps": warps, "maxnreg": registers, "enable_fp_fusion": True}
    compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    descriptor, path = tempfile.mkstemp(suffix=".cubin")
    try:
        os.write(descriptor, compiled.asm["cubin"])
        os.close(descriptor)
        usage = _tool("cuobjdump", "-res-usage", path)
        listing = _tool("nvdisasm", "-c", path)
    finally:
        os.unlink(path)
    used = {name: int(count) for name, count in re.findall(r"\b(REG|STACK):(\d+)", usage)}
    order = re.findall(r"opIdx = \d, parent = #mma\d*, kWidth = \d|versionMajor = \d", compiled.asm["ttgir"])
    return MachineCode(listing, used["REG"], used["STACK"], tuple(sorted(set(order))), compiled.metadata.shared)


def _tool(name: str, *arguments: str) -> str:
    return subprocess.run([_TOOLS / name, *arguments], check=True, capture_output=True, text=True).stdout
