"""A safetensors file whose layout is fixed first and that is written from its beginning to its end.

Lives here: where tensors lie in a file. May not: know what they hold.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lacli.errors import LacliError
from lacli.storage import atomic

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALIGNMENT = 64
_SIZES = {"F32": 4, "BF16": 2, "U8": 1, "I8": 1}
_PIECE = 1 << 22
"""Bytes per write; every write begins at a multiple of it."""
_Tensor = TypeVar("_Tensor")


@dataclass(frozen=True, slots=True)
class Slot:
    """A tensor's place."""

    name: str
    kind: str
    """As safetensors spells its type."""
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Its size."""
        return math.prod(self.shape) * _SIZES[self.kind]


def laid_out(tensors: Sequence[tuple[Slot, _Tensor]]) -> list[tuple[Slot, _Tensor]]:
    """In the order in which they lie in a file: those with a size divisible by 64, then by falling element size. With
    the header padded, every tensor lies where a memory map can use it as it is."""
    return sorted(tensors, key=lambda pair: (pair[0].nbytes % _ALIGNMENT != 0, -_SIZES[pair[0].kind]))


class Writer:
    """Writes the file.

    In large pieces at multiples of their size, which the system then keeps in large pages of its page cache; the
    forward reads these up to a quarter faster than the small pages left by small, unaligned writes.
    """

    def __init__(self, path: Path, slots: Sequence[Slot]) -> None:
        """slots: in their order in the file; as `laid_out` has them where a memory map is to use them in place."""
        self._path = path
        self._slots = {slot.name: slot for slot in slots}
        self._missing = {slot.name: slot.nbytes for slot in slots}
        self._waiting = bytearray()
        self._file: FileIO | None = None

    def __enter__(self) -> Writer:
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

    def put_piece(self, name: str, data: NDArray[Any]) -> None:
        """Write the next part of a tensor that is never whole in memory."""
        self._write(name, data)

    def _write(self, name: str, values: NDArray[Any]) -> None:
        import numpy as np

        assert sys.byteorder == "little"
        assert values.itemsize == _SIZES[self._slots[name].kind]
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


def _header(slots: Sequence[Slot]) -> bytes:
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
