"""Quantised matrices as arrays: blocks of 32 columns, and the packed bytes the C step reads in place.

Lives here: the layouts of `src/lacli.h` in numpy, and rounding to them. May not: know files, models or torch.

Nothing here splits a matrix: callers pass a large one in parts, a multiple of `PANEL` rows at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lacli.errors import LacliError

Kind = Literal["q4", "q4m", "q8", "q8m"]
"""Bits of a value; with m, blocks have a minimum."""
KINDS: tuple[Kind, ...] = get_args(Kind)
BLOCK = 32
"""Columns that share a scale."""
PANEL = 16
"""Rows that lie side by side."""
_ALIGNMENT = 64
_WORKING_VALUES = 1 << 22
_NONE = "use --quant none for this model"


@dataclass(frozen=True, slots=True)
class Blocks:
    """A matrix [rows, columns] as w = scale * q (+ minimum)."""

    values: NDArray[np.uint8] | NDArray[np.int8]
    """[rows, columns]. 4 bit: uint8 in 0..15, where q is the value less 8 without minima, and the value itself with
    them. 8 bit: int8, q itself, from -127 on."""
    scales: NDArray[np.float16]
    """[rows, ceil(columns / 32)]"""
    minima: NDArray[np.float16] | None
    bits: Literal[4, 8]

    @property
    def kind(self) -> Kind:
        """How `pack` lays it out."""
        if self.bits == 4:
            return "q4" if self.minima is None else "q4m"
        return "q8" if self.minima is None else "q8m"


def stride(kind: Kind, columns: int) -> int:
    """Bytes of a panel of 16 rows."""
    values = 16 if kind.startswith("q4") else 32
    factors = 4 if kind.endswith("m") else 2
    return _up(_up(columns, BLOCK) // BLOCK * PANEL * (values + factors), _ALIGNMENT)


def shape(kind: Kind, rows: int, columns: int) -> tuple[int, int]:
    """(panels, bytes of one) of a packed matrix."""
    return _up(rows, PANEL) // PANEL, stride(kind, columns)


def nbytes(kind: Kind, rows: int, columns: int) -> int:
    """Bytes of a packed matrix."""
    return math.prod(shape(kind, rows, columns))


def pack(blocks: Blocks) -> NDArray[np.uint8]:
    """[panels, stride] as lacli.h describes it; rows and columns that only fill up have zeros and scales of zero."""
    rows, columns = blocks.values.shape
    count = _up(columns, BLOCK) // BLOCK
    data = np.zeros(shape(blocks.kind, rows, columns), dtype=np.uint8)
    panels = len(data)
    width = count * PANEL * (16 if blocks.bits == 4 else 32)
    step = max(1, _WORKING_VALUES // (PANEL * count * BLOCK))
    for first in range(0, panels, step):
        last = min(first + step, panels)
        values = _padded(blocks.values[first * PANEL : last * PANEL], (last - first) * PANEL, count * BLOCK)
        data[first:last, :width] = _interleaved(values, blocks.bits, count)
    for factors in (blocks.scales, blocks.minima):
        if factors is not None:
            part = _padded(factors, panels * PANEL, count).reshape(panels, PANEL, count).transpose(0, 2, 1)
            data[:, width : width + 2 * PANEL * count] = part.reshape(panels, -1).view(np.uint8)
            width += 2 * PANEL * count
    return data


def unpack(data: NDArray[np.uint8], kind: Kind, rows: int, columns: int) -> Blocks:
    """What `pack` was given."""
    count = _up(columns, BLOCK) // BLOCK
    expected = shape(kind, rows, columns)
    if data.dtype != np.uint8 or data.shape != expected:
        raise LacliError(
            f"a packed {kind} matrix of {rows} x {columns} has shape {list(expected)}, not {list(data.shape)}",
            "prepare the model again",
        )
    panels = len(data)
    bits: Literal[4, 8] = 4 if kind.startswith("q4") else 8
    width = count * PANEL * (16 if bits == 4 else 32)
    values: NDArray[Any] = np.empty((panels * PANEL, count * BLOCK), dtype=np.uint8 if bits == 4 else np.int8)
    step = max(1, _WORKING_VALUES // (PANEL * count * BLOCK))
    for first in range(0, panels, step):
        last = min(first + step, panels)
        values[first * PANEL : last * PANEL] = _in_rows(data[first:last, :width], bits, count)

    def factors(number: int) -> NDArray[np.float16]:
        begin = width + number * 2 * PANEL * count
        found = np.ascontiguousarray(data[:, begin : begin + 2 * PANEL * count]).view(np.float16)
        return np.ascontiguousarray(found.reshape(panels, count, PANEL).transpose(0, 2, 1).reshape(-1, count)[:rows])

    return Blocks(values[:rows, :columns], factors(0), factors(1) if kind.endswith("m") else None, bits)


def dequantise(blocks: Blocks) -> NDArray[np.float32]:
    """float32 [rows, columns]"""
    rows, columns = blocks.values.shape
    shift = 8 if blocks.kind == "q4" else 0
    result = np.zeros((rows, blocks.scales.shape[1] * BLOCK), dtype=np.float32)
    result[:, :columns] = blocks.values
    view = result.reshape(rows, -1, BLOCK)
    if shift:
        view -= shift
    view *= blocks.scales.astype(np.float32)[:, :, None]
    if blocks.minima is not None:
        view += blocks.minima.astype(np.float32)[:, :, None]
    return result[:, :columns]


def quantise(weight: NDArray[np.float32], bits: Literal[4, 8]) -> Blocks:
    """8 bit: symmetric about zero. 4 bit: from the least to the greatest weight of a block.

    Scales and minima are rounded to float16 *before* the weights are divided, so the values absorb that error.
    Raises LacliError where a weight is NaN, infinite, or beyond what float16 scales can say.
    """
    rows, columns = weight.shape
    count = _up(columns, BLOCK) // BLOCK
    full = np.empty((rows, count * BLOCK), dtype=np.float32)
    full[:, :columns] = weight
    full[:, columns:] = full[:, columns - 1 : columns]  # such a column changes neither least nor greatest
    view = full.reshape(rows, count, BLOCK)
    least, greatest = view.min(axis=2, initial=np.inf), view.max(axis=2, initial=-np.inf)
    if not (np.isfinite(least).all() and np.isfinite(greatest).all()):
        raise LacliError("a weight is not a finite number", "fetch the model again")
    minima: NDArray[np.float16] | None = None
    with np.errstate(over="ignore"):
        if bits == 8:
            span, steps = np.maximum(-least, greatest), 127
        else:
            minima = least.astype(np.float16)
            view -= minima.astype(np.float32)[:, :, None]
            span, steps = np.maximum(greatest - minima.astype(np.float32), 0), 15
        scales = (span / steps).astype(np.float16)
    # Rounded down, a tiny scale (below float16's normal range) would cut the greatest weights off.
    short = scales.astype(np.float32) * (steps + 0.5) < span
    scales[short] = np.nextafter(scales[short], np.float16(np.inf))
    if not (np.isfinite(scales).all() and (minima is None or np.isfinite(minima).all())):
        raise LacliError(f"a weight of {np.abs(weight).max():.3g} is too large to be quantised", _NONE)
    view /= np.where(scales == 0, np.float16(1), scales).astype(np.float32)[:, :, None]
    np.rint(full, out=full)
    np.clip(full, -127 if bits == 8 else 0, steps, out=full)
    values: NDArray[Any] = full[:, :columns].astype(np.int8 if bits == 8 else np.uint8)
    return Blocks(values, scales, minima, bits)


def widen(blocks: Blocks) -> Blocks:
    """4 bit as 8 bit, the same weights exactly."""
    if blocks.bits == 8:
        return blocks
    values = blocks.values.astype(np.int8)
    if blocks.minima is None:
        values -= 8
    return Blocks(values, blocks.scales, blocks.minima, 8)


def _interleaved(values: NDArray[np.uint8] | NDArray[np.int8], bits: int, count: int) -> NDArray[np.uint8]:
    """Whole panels of values [rows, columns] in the order of lacli.h: [panels, bytes]."""
    panels = values.shape[0] // PANEL
    if bits == 8:
        data, groups = values.view(np.uint8) ^ 0x80, 8
    else:
        halves = values.view(np.uint8).reshape(-1, count, 2, 16)
        data, groups = halves[:, :, 0] | (halves[:, :, 1] << 4), 4
    fours = np.ascontiguousarray(data).view(np.uint32).reshape(panels, PANEL, count, groups)
    return np.ascontiguousarray(fours.transpose(0, 2, 3, 1)).reshape(panels, -1).view(np.uint8)


def _in_rows(data: NDArray[np.uint8], bits: int, count: int) -> NDArray[np.uint8] | NDArray[np.int8]:
    """The reverse of `_interleaved`."""
    groups = 4 if bits == 4 else 8
    fours = np.ascontiguousarray(data).view(np.uint32).reshape(-1, count, groups, PANEL)
    values = np.ascontiguousarray(fours.transpose(0, 3, 1, 2)).view(np.uint8)  # [panels, lanes, blocks, 4 * groups]
    if bits == 8:
        return (values ^ 0x80).view(np.int8).reshape(-1, count * BLOCK)
    halves = values.reshape(-1, count, 1, 16)
    return np.concatenate((halves & 0x0F, halves >> 4), axis=2).reshape(-1, count * BLOCK)


def _padded(array: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    if array.shape == (rows, columns):
        return np.ascontiguousarray(array)
    full = np.zeros((rows, columns), dtype=array.dtype)
    full[: array.shape[0], : array.shape[1]] = array
    return full


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
