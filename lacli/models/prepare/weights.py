"""Writes safetensors files one tensor at a time: a model of any size is prepared in the memory of its largest tensor.

Lives here: two layouts of a prepared model, float and in blocks of 32 (bitsandbytes' is `bnb`). May not: know where
tensors come from - sources hand over `Weight`s.

A packed file holds, for a matrix `x.weight`, one tensor `x.<kind>` of bytes as lacli/kernels/src/lacli.h describes
them; norms and biases are float32 under their own names. It is read in place, so every matrix begins at a multiple of
64. Large matrices are never whole in memory: they are packed some rows at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lacli.errors import LacliError
from lacli.models.prepare.file import Slot, Writer, laid_out

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lacli.kernels.packing import Blocks, Kind

Blocks32 = Literal["int4", "int8"]
"""Quantisations in blocks of 32, as our own kernels read them."""
_PART = 1 << 22
"""Weights packed at a time."""
Ticker = Callable[[int, int], None]
"""Told (tensors done, tensors in all)."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A matrix that can be packed."""

    kinds: Mapping[Blocks32, Kind]
    """How it is packed for each quantisation."""
    rows: Callable[[Blocks32, int, int], Blocks]
    """Reads and, where it must be, rounds the rows [first, last)."""


@dataclass(frozen=True, slots=True)
class Weight:
    """One tensor of a model, not in memory yet."""

    name: str
    shape: tuple[int, ...]
    load: Callable[[], NDArray[np.float32]]
    """Reads and decodes it."""
    blocked: Blocked | None = None
    """None for what stays float in every variant: norms and biases."""
    rows: Callable[[int, int], NDArray[np.float32]] | None = None
    """Reads and decodes the rows [first, last) of a matrix."""
    is_vocabulary: bool = False
    """Embeddings and head, which keep more bits than a linear."""


def write_float(path: Path, weights: Sequence[Weight], half: bool, tick: Ticker) -> None:
    """All tensors under their own names, float32, or bfloat16 where `half`."""
    kind = "BF16" if half else "F32"
    placed = laid_out([(Slot(weight.name, kind, weight.shape), weight) for weight in weights])
    with Writer(path, [slot for slot, _ in placed]) as writer:
        for done, (_, weight) in enumerate(placed):
            tick(done, len(weights))
            put_float(writer, weight, half)
        tick(len(weights), len(weights))


def put_float(writer: Writer, weight: Weight, half: bool) -> None:
    """A tensor as float32, or bfloat16 where `half`."""
    for values in pieces(weight):
        writer.put_piece(weight.name, bfloat16(values) if half else values)


def pieces(weight: Weight, multiple: int = 1) -> Iterator[NDArray[np.float32]]:
    """Yield a tensor, a matrix in pieces of rows. The row count of each piece but the last is a multiple of `multiple`.

    Raises LacliError if the tensor has another shape than announced.
    """
    if weight.rows is None:
        values = weight.load()
        if values.shape != weight.shape:
            raise LacliError(
                f"{weight.name} has shape {list(values.shape)} where {list(weight.shape)} was announced",
                "fetch the model again",
            )
        yield values
        return
    rows, columns = weight.shape
    step = max(1, _PART // max(1, columns * multiple)) * multiple
    for first in range(0, rows, step):
        yield weight.rows(first, min(first + step, rows))


def write_packed(path: Path, weights: Sequence[Weight], quant: Blocks32, tick: Ticker) -> None:
    """Matrices packed, vectors float32."""
    placed = laid_out([(_slot(weight, quant), weight) for weight in weights])
    with Writer(path, [slot for slot, _ in placed]) as writer:
        for done, (_, weight) in enumerate(placed):
            tick(done, len(weights))
            if weight.blocked is None:
                writer.put(weight.name, weight.load())
            else:
                _put_packed(writer, weight, weight.blocked, quant)
        tick(len(weights), len(weights))


def packed_name(weight_name: str, kind: Kind) -> str:
    """`x.weight` to `x.q4m`."""
    return f"{weight_name.removesuffix('.weight')}.{kind}"


def float_bytes(weights: Sequence[Weight], half: bool) -> int:
    """Size of what `write_float` writes, header apart."""
    return sum(math.prod(weight.shape) for weight in weights) * (2 if half else 4)


def packed_bytes(weights: Sequence[Weight], quant: Blocks32) -> int:
    """Size of what `write_packed` writes, header apart."""
    return sum(_slot(weight, quant).nbytes for weight in weights)


def _slot(weight: Weight, quant: Blocks32) -> Slot:
    from lacli.kernels.packing import shape

    if weight.blocked is None:
        return Slot(weight.name, "F32", weight.shape)
    kind = weight.blocked.kinds[quant]
    rows, columns = weight.shape
    return Slot(packed_name(weight.name, kind), "U8", shape(kind, rows, columns))


def _put_packed(writer: Writer, weight: Weight, blocked: Blocked, quant: Blocks32) -> None:
    from lacli.kernels.packing import PANEL, pack

    rows, columns = weight.shape
    step = max(1, _PART // max(1, columns * PANEL)) * PANEL
    name = packed_name(weight.name, blocked.kinds[quant])
    try:
        for first in range(0, rows, step):
            writer.put_piece(name, pack(blocked.rows(quant, first, min(first + step, rows))))
    except LacliError as error:
        raise LacliError(f"{weight.name} cannot be packed: {error.message}", error.hint) from error


def bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Rounded to the nearest, to even in the middle; what is no number stays none."""
    import numpy as np

    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16).astype(np.uint16)
    rounded[np.isnan(values)] = 0x7FC0
    return rounded
