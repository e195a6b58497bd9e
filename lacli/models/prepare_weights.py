"""Writes safetensors files one tensor at a time: a model of any size is prepared in the memory of its largest tensor.

Lives here: the two layouts of a prepared model (float, int8). May not: know where tensors come from - sources hand over
`Weight`s. Called by prepare.py.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lacli.errors import LacliError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_ALIGNMENT = 64
_K_MULTIPLE = 32
_NAMES = {"F32": 4, "BF16": 2, "F16": 2, "I8": 1}
Ticker = Callable[[int, int], None]
"""Told (tensors done, tensors in all)."""


@dataclass(frozen=True, slots=True)
class Weight:
    """One tensor of a model, not in memory yet."""

    name: str
    shape: tuple[int, ...]
    linear: bool
    """The weight matrix of a linear, as opposed to embeddings, norms and biases."""
    load: Callable[[], Tensor]
    """Reads and decodes it."""
    int8_only: bool = False
    """A tied output head: the float variant has it as its embeddings already."""


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
    weights = [weight for weight in weights if not weight.int8_only]
    with _Writer(path, [_Slot(weight.name, kind, weight.shape) for weight in weights]) as writer:
        for done, weight in enumerate(weights):
            tick(done, len(weights))
            writer.put(weight.name, weight.load())
        tick(len(weights), len(weights))


def write_int8(path: Path, weights: Sequence[Weight], tick: Ticker) -> None:
    """Linears as int8 rows with bfloat16 scales, other matrices bfloat16, vectors float32."""
    from lacli.models.quant import quantise_rows

    slots: list[_Slot] = []
    for weight in weights:
        if weight.linear:
            rows, columns = weight.shape
            slots.append(_Slot(weight.name, "I8", (rows, -(-columns // _K_MULTIPLE) * _K_MULTIPLE)))
            slots.append(_Slot(scale_name(weight.name), "BF16", (rows,)))
        else:
            slots.append(_Slot(weight.name, "F32" if len(weight.shape) < 2 else "BF16", weight.shape))
    with _one_thread(), _Writer(path, slots) as writer:
        for done, weight in enumerate(weights):
            tick(done, len(weights))
            if weight.linear:
                rows_int8, scale = quantise_rows(weight.load())
                writer.put(weight.name, rows_int8)
                writer.put(scale_name(weight.name), scale)
            else:
                writer.put(weight.name, weight.load())
        tick(len(weights), len(weights))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Quantising is many small operations: on a busy machine, waiting threads make it six times slower."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def scale_name(weight_name: str) -> str:
    """`x.weight` to `x.scale`."""
    return weight_name.removesuffix("weight") + "scale"


def float_bytes(weights: Sequence[Weight], half: bool) -> int:
    """Size of what `write_float` writes, header apart."""
    return sum(math.prod(weight.shape) for weight in weights if not weight.int8_only) * (2 if half else 4)


def int8_bytes(weights: Sequence[Weight]) -> int:
    """Size of what `write_int8` writes, header and padding apart."""
    return sum(
        math.prod(weight.shape) * (1 if weight.linear else 2 if len(weight.shape) > 1 else 4) for weight in weights
    )


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
        self._missing = set(self._slots)
        self._file: BinaryIO | None = None

    def __enter__(self) -> _Writer:
        self._file = self._path.open("xb")
        self._file.write(self._head)
        self._file.truncate(self._total)
        return self

    def put(self, name: str, tensor: Tensor) -> None:
        """Write one tensor at its place, converted to the slot's dtype."""
        slot, offset = self._slots[name]
        if tuple(tensor.shape) != slot.shape:
            raise LacliError(
                f"{name} has shape {list(tensor.shape)} where {list(slot.shape)} was announced", "fetch the model again"
            )
        assert self._file is not None
        assert sys.byteorder == "little"
        self._file.seek(len(self._head) + offset)
        self._file.write(_raw(tensor.to(_dtype(slot.kind))))
        self._missing.discard(name)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        assert self._file is not None
        with self._file:
            if kind is None:
                assert not self._missing, f"tensors never written: {sorted(self._missing)[:3]}"
                self._file.flush()
                os.fsync(self._file.fileno())


def _dtype(kind: str) -> torch.dtype:
    import torch

    return {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16, "I8": torch.int8}[kind]


def _raw(tensor: Tensor) -> memoryview:
    import torch

    return memoryview(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy())  # type: ignore[arg-type]
