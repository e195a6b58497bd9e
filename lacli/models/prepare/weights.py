"""Writes safetensors files one tensor at a time: a model of any size is prepared in the memory of its largest tensor.

Lives here: the two layouts of a prepared model, float and packed. May not: know where tensors come from - sources hand
over `Weight`s.

A packed file holds, for a matrix `x.weight`, one tensor `x.<kind>` of bytes as lacli/kernels/src/lacli.h describes
them; norms and biases are float32 under their own names. It is read in place, so every matrix begins at a multiple of
64. Large matrices are never whole in memory: they are packed some rows at a time.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from lacli.errors import LacliError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lacli.kernels.packing import Blocks, Kind

Packed = Literal["int4", "int8"]
"""Quantisations with a packed file."""
_ALIGNMENT = 64
_NAMES = {"F32": 4, "BF16": 2, "U8": 1}
_PART = 1 << 22
"""Weights packed at a time."""
Ticker = Callable[[int, int], None]
"""Told (tensors done, tensors in all)."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A matrix that can be packed."""

    kinds: Mapping[Packed, Kind]
    """How it is packed for each quantisation."""
    rows: Callable[[Packed, int, int], Blocks]
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


@dataclass(frozen=True, slots=True)
class _Slot:
    name: str
    kind: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * _NAMES[self.kind]


def write_float(path: Path, weights: Sequence[Weight], half: bool, tick: Ticker) -> None:
    """All tensors under their own names, float32, or bfloat16 where `half`."""
    kind = "BF16" if half else "F32"
    with _Writer(path, [_Slot(weight.name, kind, weight.shape) for weight in weights]) as writer:
        for done, weight in enumerate(weights):
            tick(done, len(weights))
            values = weight.load()
            writer.put(weight.name, _bfloat16(values) if half else values)
        tick(len(weights), len(weights))


def write_packed(path: Path, weights: Sequence[Weight], quant: Packed, tick: Ticker) -> None:
    """Matrices packed, vectors float32."""
    with _Writer(path, [_slot(weight, quant) for weight in weights]) as writer:
        for done, weight in enumerate(weights):
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


def packed_bytes(weights: Sequence[Weight], quant: Packed) -> int:
    """Size of what `write_packed` writes, header apart."""
    return sum(_slot(weight, quant).nbytes for weight in weights)


def _slot(weight: Weight, quant: Packed) -> _Slot:
    from lacli.kernels.packing import shape

    if weight.blocked is None:
        return _Slot(weight.name, "F32", weight.shape)
    kind = weight.blocked.kinds[quant]
    rows, columns = weight.shape
    return _Slot(packed_name(weight.name, kind), "U8", shape(kind, rows, columns))


def _put_packed(writer: _Writer, weight: Weight, blocked: Blocked, quant: Packed) -> None:
    from lacli.kernels.packing import PANEL, pack

    rows, columns = weight.shape
    step = max(1, _PART // max(1, columns * PANEL)) * PANEL
    name = packed_name(weight.name, blocked.kinds[quant])
    try:
        for first in range(0, rows, step):
            writer.put_panels(name, pack(blocked.rows(quant, first, min(first + step, rows))), first // PANEL)
    except LacliError as error:
        raise LacliError(f"{weight.name} cannot be packed: {error.message}", error.hint) from error


def _bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Rounded to the nearest, to even in the middle; what is no number stays none."""
    import numpy as np

    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16).astype(np.uint16)
    rounded[np.isnan(values)] = 0x7FC0
    return rounded


class _Writer:
    """A safetensors file whose layout is fixed first and filled in any order.

    Tensors with a size divisible by 64 come first, then by falling element size: with the header padded, every tensor
    lies where a memory map can use it as it is.
    """

    def __init__(self, path: Path, slots: Sequence[_Slot]) -> None:
        self._path = path
        self._slots: dict[str, tuple[_Slot, int]] = {}
        offset = 0
        header: dict[str, object] = {"__metadata__": {"format": "pt"}}
        for slot in sorted(slots, key=lambda slot: (slot.nbytes % _ALIGNMENT != 0, -_NAMES[slot.kind])):
            self._slots[slot.name] = (slot, offset)
            header[slot.name] = {
                "dtype": slot.kind,
                "shape": list(slot.shape),
                "data_offsets": [offset, offset + slot.nbytes],
            }
            offset += slot.nbytes
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-(len(text) + 8) % _ALIGNMENT)
        self._head = len(text).to_bytes(8, "little") + text
        self._total = len(self._head) + offset
        self._missing = {slot.name: slot.nbytes for slot in slots}
        self._file: BinaryIO | None = None

    def __enter__(self) -> _Writer:
        self._file = self._path.open("xb")
        self._file.write(self._head)
        self._file.truncate(self._total)
        return self

    def put(self, name: str, values: NDArray[Any]) -> None:
        """Write one tensor at its place."""
        shape = self._slots[name][0].shape
        if values.shape != shape:
            raise LacliError(
                f"{name} has shape {list(values.shape)} where {list(shape)} was announced", "fetch the model again"
            )
        self._write(name, values, 0)

    def put_panels(self, name: str, data: NDArray[np.uint8], first: int) -> None:
        """Write a part of a packed matrix, from panel `first` on."""
        self._write(name, data, first * data.shape[1])

    def _write(self, name: str, values: NDArray[Any], at: int) -> None:
        import numpy as np

        slot, offset = self._slots[name]
        assert self._file is not None
        assert sys.byteorder == "little"
        assert values.itemsize == _NAMES[slot.kind]
        self._file.seek(len(self._head) + offset + at)
        self._file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
        self._missing[name] -= values.nbytes

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        assert self._file is not None
        with self._file:
            if kind is None:
                missing = [name for name, left in self._missing.items() if left]
                assert not missing, f"tensors never written in full: {missing[:3]}"
                self._file.flush()
                os.fsync(self._file.fileno())
