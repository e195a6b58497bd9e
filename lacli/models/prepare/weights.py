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
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lacli.errors import LacliError
from lacli.storage import atomic

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
_PIECE = 1 << 22
"""Bytes written at a time, so that each begins at a multiple of as many."""
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
    laid_out = _laid_out([(_Slot(weight.name, kind, weight.shape), weight) for weight in weights])
    with _Writer(path, [slot for slot, _ in laid_out]) as writer:
        for done, (_, weight) in enumerate(laid_out):
            tick(done, len(weights))
            values = weight.load()
            writer.put(weight.name, _bfloat16(values) if half else values)
        tick(len(weights), len(weights))


def write_packed(path: Path, weights: Sequence[Weight], quant: Packed, tick: Ticker) -> None:
    """Matrices packed, vectors float32."""
    laid_out = _laid_out([(_slot(weight, quant), weight) for weight in weights])
    with _Writer(path, [slot for slot, _ in laid_out]) as writer:
        for done, (_, weight) in enumerate(laid_out):
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
            writer.put_panels(name, pack(blocked.rows(quant, first, min(first + step, rows))))
    except LacliError as error:
        raise LacliError(f"{weight.name} cannot be packed: {error.message}", error.hint) from error


def _bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Rounded to the nearest, to even in the middle; what is no number stays none."""
    import numpy as np

    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = ((bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16).astype(np.uint16)
    rounded[np.isnan(values)] = 0x7FC0
    return rounded


def _laid_out(tensors: Sequence[tuple[_Slot, Weight]]) -> list[tuple[_Slot, Weight]]:
    """In the order in which they lie in a file: those with a size divisible by 64, then by falling element size. With
    the header padded, every tensor lies where a memory map can use it as it is."""
    return sorted(tensors, key=lambda pair: (pair[0].nbytes % _ALIGNMENT != 0, -_NAMES[pair[0].kind]))


class _Writer:
    """A safetensors file whose layout is fixed first and that is written from its beginning to its end.

    Large pieces at multiples of their size are what the system keeps in large pages of its cache, which the forward
    reads up to a quarter faster than those that small writes at odd places leave.
    """

    def __init__(self, path: Path, slots: Sequence[_Slot]) -> None:
        """slots: as `_laid_out` has them."""
        self._path = path
        self._slots = {slot.name: slot for slot in slots}
        self._missing = {slot.name: slot.nbytes for slot in slots}
        self._waiting = bytearray()
        self._file: FileIO | None = None

    def __enter__(self) -> _Writer:
        self._file = self._path.open("xb", buffering=0)
        self._append(memoryview(_header(list(self._slots.values()))))
        return self

    def put(self, name: str, values: NDArray[Any]) -> None:
        """Write one tensor."""
        shape = self._slots[name].shape
        if values.shape != shape:
            raise LacliError(
                f"{name} has shape {list(values.shape)} where {list(shape)} was announced", "fetch the model again"
            )
        self._write(name, values)

    def put_panels(self, name: str, data: NDArray[np.uint8]) -> None:
        """Write the next panels of a packed matrix."""
        self._write(name, data)

    def _write(self, name: str, values: NDArray[Any]) -> None:
        import numpy as np

        assert sys.byteorder == "little"
        assert values.itemsize == _NAMES[self._slots[name].kind]
        turn = next((each for each, left in self._missing.items() if left), name)
        assert name == turn or not values.nbytes, f"{name} is written where {turn} is to be"
        self._append(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
        self._missing[name] -= values.nbytes

    def _append(self, data: memoryview) -> None:
        while data:
            part = data[: _PIECE - len(self._waiting)]
            self._waiting += part
            data = data[len(part) :]
            if len(self._waiting) == _PIECE:
                self._flush(durable=False)

    def _flush(self, durable: bool) -> None:
        assert self._file is not None
        atomic.write_all(self._file.fileno(), bytes(self._waiting), durable)
        self._waiting.clear()

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        assert self._file is not None
        with self._file:
            if kind is None:
                missing = [name for name, left in self._missing.items() if left]
                assert not missing, f"tensors never written in full: {missing[:3]}"
                self._flush(durable=True)


def _header(slots: Sequence[_Slot]) -> bytes:
    """What stands before the tensors."""
    offset = 0
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    for slot in slots:
        header[slot.name] = {
            "dtype": slot.kind,
            "shape": list(slot.shape),
            "data_offsets": [offset, offset + slot.nbytes],
        }
        offset += slot.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text
