"""Weights in bitsandbytes' layout as tensors, mapped from a file: what lacli prepared, or a checkpoint stored so.

Lives here: names, shapes and types of what lies in such a file (`prepare.bnb` has the layout). May not: import
bitsandbytes, except to make its own record of a matrix; multiply.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from lacli.errors import ModelUnavailable
from lacli.models.runners.fused.config import AGAIN

_STATE = "weight.quant_state.bitsandbytes__"


@dataclass(frozen=True, slots=True)
class Nf4Matrix:
    """A matrix [rows, columns] in NF4; weight = quant_map[code] * scale of its block."""

    packed: Tensor
    """uint8 [ceil(rows * columns / 2), 1]: two codes a byte in flat order, the earlier one in the high half."""
    absmax: Tensor
    """A block's scale: float32 [blocks]; or where it is nested uint8, an index into `nested_map`."""
    quant_map: Tensor
    """float32 [16]"""
    rows: int
    columns: int
    block: int
    """Weights with one scale, in flat order: 64 in all that lacli makes."""
    nested_map: Tensor | None = None
    """float32 [256]; scale = nested_map[absmax] * nested_absmax + offset."""
    nested_absmax: Tensor | None = None
    """float32 [ceil(blocks / nested_block)]"""
    nested_block: int = 0
    offset: float = 0.0

    def scales(self) -> Tensor:
        """The scale of each block, float32 [blocks]."""
        if self.nested_map is None or self.nested_absmax is None:
            return self.absmax
        factors = self.nested_absmax.repeat_interleave(self.nested_block)[: self.absmax.numel()]
        return self.nested_map[self.absmax.long()] * factors + self.offset

    def dequantised(self) -> Tensor:
        """float32 [rows, columns]"""
        codes = torch.stack([self.packed >> 4, self.packed & 15], dim=-1).reshape(-1)[: self.rows * self.columns]
        scales = self.scales().repeat_interleave(self.block)[: codes.numel()]
        return (self.quant_map[codes.long()] * scales).reshape(self.rows, self.columns)

    def quant_state(self, device: torch.device, dtype: torch.dtype) -> Any:
        """bitsandbytes' own record, on `device`; `dtype` is what its kernels compute and answer in."""
        from bitsandbytes.functional import QuantState

        nested = self.nested_map is not None and self.nested_absmax is not None
        inner = None
        if nested:
            inner = QuantState(
                absmax=_on(self.nested_absmax, device),
                code=_on(self.nested_map, device),
                blocksize=self.nested_block,
                dtype=torch.float32,
            )
        return QuantState(
            absmax=_on(self.absmax, device),
            shape=torch.Size((self.rows, self.columns)),
            code=_on(self.quant_map, device),
            blocksize=self.block,
            quant_type="nf4",
            dtype=dtype,
            offset=torch.tensor(self.offset, device=device) if nested else None,
            state2=inner,
        )


@dataclass(frozen=True, slots=True)
class Int8Matrix:
    """A matrix in int8; weight = packed * scales / 127."""

    packed: Tensor
    """int8 [rows, columns]"""
    scales: Tensor
    """float32 [rows]: the largest magnitude of each row."""

    def dequantised(self) -> Tensor:
        """float32 [rows, columns]"""
        return self.packed.to(torch.float32) * (self.scales / 127)[:, None]


class BnbFile:
    """The tensors of one or more files in bitsandbytes' layout, mapped: none is read before it is used.

    Raises ModelUnavailable for files that are missing, damaged, or of other matrices than asked for.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._stack = ExitStack()
        self._where: dict[str, Any] = {}
        for file in files:
            try:
                handle = self._stack.enter_context(safe_open(str(file), framework="pt", device="cpu"))
                self._where.update(dict.fromkeys(handle.keys(), handle))
            except (SafetensorError, OSError) as error:
                raise ModelUnavailable(f"the weights in {file} cannot be read: {error}", AGAIN) from error

    def __contains__(self, name: object) -> bool:
        return name in self._where

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def tensor(self, name: str) -> Tensor:
        """A tensor as it is stored: norms, biases, embeddings."""
        if name not in self._where:
            raise ModelUnavailable(f"the weights lack the tensor {name}", AGAIN)
        found: Tensor = self._where[name].get_tensor(name)
        return found

    def matrix(self, stem: str, rows: int, columns: int) -> Nf4Matrix | Int8Matrix | Tensor:
        """The matrix of this name without `.weight`; a plain tensor [rows, columns] where it is not packed."""
        if f"{stem}.{_STATE}nf4" in self:
            return self._nf4(stem, rows, columns)
        weight = self.tensor(f"{stem}.weight")
        if tuple(weight.shape) != (rows, columns):
            raise _other_size(stem, weight, rows, columns)
        return Int8Matrix(weight, self.tensor(f"{stem}.SCB")) if weight.dtype == torch.int8 else weight

    def _nf4(self, stem: str, rows: int, columns: int) -> Nf4Matrix:
        state = self._state(stem)
        packed, absmax = self.tensor(f"{stem}.weight"), self.tensor(f"{stem}.weight.absmax")
        count, block, nested = rows * columns, int(state["blocksize"]), int(state.get("nested_blocksize", 0))
        blocks = -(-count // block)
        if list(state["shape"]) != [rows, columns] or (packed.numel(), absmax.numel()) != (-(-count // 2), blocks):
            raise _other_size(stem, packed, rows, columns)
        return Nf4Matrix(
            packed=packed.reshape(-1, 1),
            absmax=absmax,
            quant_map=self.tensor(f"{stem}.weight.quant_map"),
            rows=rows,
            columns=columns,
            block=block,
            nested_map=self.tensor(f"{stem}.weight.nested_quant_map") if nested else None,
            nested_absmax=self.tensor(f"{stem}.weight.nested_absmax") if nested else None,
            nested_block=nested,
            offset=float(state.get("nested_offset", 0.0)),
        )

    def _state(self, stem: str) -> dict[str, Any]:
        data = bytes(self.tensor(f"{stem}.{_STATE}nf4").tolist())
        try:
            state = json.loads(data)
            _ = list(state["shape"]), float(state.get("nested_offset", 0))
            if int(state["blocksize"]) < 1 or int(state.get("nested_blocksize", 0)) < 0:
                raise ValueError("a block of no weights")
        except (ValueError, KeyError, TypeError) as error:
            raise ModelUnavailable(f"the record of {stem} in the weights is damaged: {error}", AGAIN) from error
        return dict(state)


def _on(tensor: Tensor | None, device: torch.device) -> Tensor | None:
    return None if tensor is None else tensor.to(device)


def _other_size(stem: str, found: Tensor, rows: int, columns: int) -> ModelUnavailable:
    return ModelUnavailable(
        f"{stem}.weight is {list(found.shape)} where config.json asks for [{rows}, {columns}]", AGAIN
    )
