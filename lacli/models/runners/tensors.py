"""Named tensors of safetensors files, read where they lie in memory maps.

safetensors' own reader copies each tensor; the C step multiplies by the file's pages.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.kernels import packing
from lacli.models.runners.fused.config import AGAIN

if TYPE_CHECKING:
    from torch import Tensor

_DTYPES: dict[str, type] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
_MOST_HEADER_BYTES = 100_000_000
_PANELS_AT_ONCE = 256


class Tensors:
    """Tensors by name. A name is refused where no file has it, a file where it is not whole."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._arrays: dict[str, tuple[str, NDArray[Any]]] = {}
        for file in files:
            try:
                self._arrays.update(_read(file))
            except OSError as error:
                if error.errno == errno.ENOMEM:  # a limit on the address space, not the file
                    raise OutOfMemory(
                        f"there is no memory to map the weights in {file}", "use a smaller model, or raise `ulimit -v`"
                    ) from error
                raise ModelUnavailable(f"the weights in {file} cannot be read: {error.strerror}", AGAIN) from error
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise ModelUnavailable(
                    f"the weights in {file} are damaged: {error}", "remove them with `lacli models rm`"
                ) from error

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    @property
    def head(self) -> str:
        """The output head without `.weight`: the embedding where none of its own is stored."""
        own = "lm_head.weight" in self or self.is_packed("lm_head")
        return "lm_head" if own else "model.embed_tokens"

    def array(self, name: str) -> tuple[str, NDArray[Any]]:
        """The safetensors dtype and the tensor itself, not writable; bfloat16 as uint16."""
        found = self._arrays.get(name)
        if found is None:
            raise ModelUnavailable(f"the weights lack the tensor {name}", AGAIN)
        return found

    def floats(self, name: str) -> NDArray[np.float32]:
        """As float32, a copy where it is stored otherwise."""
        dtype, array = self.array(name)
        if dtype == "BF16":
            return (array.astype(np.uint32) << 16).view(np.float32)
        if dtype not in ("F64", "F32", "F16"):
            raise ModelUnavailable(f"{name} is stored as {dtype}, where floats are expected", AGAIN)
        return np.ascontiguousarray(array, dtype=np.float32)

    def torch(self, name: str) -> Tensor:
        """A copy of a tensor in its own dtype."""
        import torch

        dtype, array = self.array(name)
        copy = torch.from_numpy(array.copy())
        return copy.view(torch.bfloat16) if dtype == "BF16" else copy

    def is_packed(self, stem: str) -> bool:
        """Whether the matrix of this name without `.weight` is stored packed."""
        return self._kind(stem) is not None

    def packed(self, stem: str, rows: int, columns: int) -> tuple[packing.Kind, NDArray[np.uint8]]:
        """A matrix that is stored packed. Raises ModelUnavailable where it is of another size."""
        kind = self._kind(stem)
        assert kind is not None
        data = self.array(f"{stem}.{kind}")[1]
        expected = packing.shape(kind, rows, columns)
        if data.dtype != np.uint8 or data.shape != expected:
            raise ModelUnavailable(
                f"{stem}.{kind} is {list(data.shape)} where config.json asks for {list(expected)}", AGAIN
            )
        return kind, data

    def unpacked(self, stem: str, rows: int, columns: int) -> Iterator[NDArray[np.float32]]:
        """A matrix that is stored packed as float32, some rows at a time."""
        kind, data = self.packed(stem, rows, columns)
        for first in range(0, len(data), _PANELS_AT_ONCE):
            part = data[first : first + _PANELS_AT_ONCE]
            count = min(rows - first * packing.PANEL, len(part) * packing.PANEL)
            yield packing.dequantise(packing.unpack(part, kind, count, columns))

    def _kind(self, stem: str) -> packing.Kind | None:
        return next((kind for kind in packing.KINDS if f"{stem}.{kind}" in self._arrays), None)


def _read(file: Path) -> dict[str, tuple[str, NDArray[Any]]]:
    """Raises ValueError and what wrong types of JSON raise."""
    mapped = _mapped(file)
    size = int.from_bytes(mapped[:8], "little")
    if len(mapped) < 8 or size > min(len(mapped) - 8, _MOST_HEADER_BYTES):
        raise ValueError("it has no header")
    header = json.loads(mapped[8 : 8 + size])
    data = np.frombuffer(mapped, dtype=np.uint8, offset=8 + size)
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        shape, (begin, end) = tuple(entry["shape"]), entry["data_offsets"]
        if entry["dtype"] not in _DTYPES:
            raise ValueError(f"{name} is of the unknown type {entry['dtype']}")
        dtype = _DTYPES[entry["dtype"]]
        if not 0 <= begin <= end <= len(data) or end - begin != math.prod(shape) * np.dtype(dtype).itemsize:
            raise ValueError(f"{name} does not lie in it as its header says")
        piece = data[begin:end]
        if piece.__array_interface__["data"][0] % np.dtype(dtype).itemsize:
            piece = piece.copy()
        found[name] = (entry["dtype"], piece.view(dtype).reshape(shape))
    return found


def _mapped(file: Path) -> mmap.mmap | bytes:
    """A file's content; its pages, where it is not in the system's cache, come into that as large ones: reading the
    weights is what a forward waits for, and small pages cost it up to a quarter more."""
    with file.open("rb") as handle:
        if not os.fstat(handle.fileno()).st_size:  # which cannot be mapped
            return b""
        mapped = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel that was built without them
            mapped.madvise(mmap.MADV_HUGEPAGE)
    return mapped
