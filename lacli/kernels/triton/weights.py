"""Quantised matrices as the Triton kernels read them.

Lives here: the layouts, made from what bitsandbytes and our own files hold without rounding anything anew, and what
they stand for. May not: import Triton or bitsandbytes (their objects are taken as they come), know models.

`nf4` and `int8` are read in bitsandbytes' own bytes, so a matrix is in memory once. `int4` and `int8_blocks` hold the
values of our CPU files, the former in another order: eight columns that lie 16 apart share a word, so that a nibble is
used where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lacli.errors import LacliError
from lacli.kernels.packing import BLOCK, Blocks

Format = Literal["nf4", "int4", "int8", "int8_blocks"]
TILE = 128
"""Columns the kernels take at a time; factors are padded to as many with zeros."""
NF4_BLOCK = 64
_WORDS = TILE // 8
_ELSEWHERE = "this matrix has to run on another kernel"


@dataclass(frozen=True, slots=True)
class PackedWeight:
    """A matrix [outputs, columns] on one device; `tiles` is ceil(columns / 128)."""

    format: Format
    outputs: int
    columns: int
    words: Tensor
    """int32. nf4: [outputs, columns / 8], int8: [outputs, columns / 4], each the bytes of bitsandbytes.
    int4: [outputs, 16 tiles], where nibble n of word i of a tile is column 16 n + i of the tile.
    int8_blocks: [outputs, 32 tiles], each four columns in their order."""
    scales: Tensor
    """nf4: float32 [outputs, 2 tiles], of blocks of 64. int8: float32 [outputs]. Others: float16 [outputs, 4 tiles], of
    blocks of 32."""
    minima: Tensor | None = None
    """int4, int8_blocks: float16 like the scales; None where there are none, and a nibble means itself less 8."""
    table: Tensor | None = None
    """nf4: int32 [16], the value of a code as two bfloat16 whose sum it is, the greater in the upper half."""
    terms: Literal[1, 2] = 1
    """nf4: how many of the two are used."""

    @property
    def tiles(self) -> int:
        return -(-self.columns // TILE)

    @property
    def nbytes(self) -> int:
        """Bytes a product reads of it."""
        tensors = (self.words, self.scales, self.minima)
        return sum(tensor.nbytes for tensor in tensors if tensor is not None)

    def dequantised(self) -> Tensor:
        """float32 [outputs, columns]: what the kernels multiply by."""
        if self.format == "int8":
            return self.words.view(torch.int8).to(torch.float32) * self.scales[:, None]
        if self.format == "int8_blocks":
            return self._scaled(self.words.view(torch.int8).to(torch.float32))
        codes = _nibbles(self.words)  # [outputs, words, 8], the lowest first
        if self.format == "nf4":
            assert self.table is not None
            values = _table_values(self.table)[codes[:, :, [1, 0, 3, 2, 5, 4, 7, 6]].reshape(self.outputs, -1).long()]
            return values * self.scales.repeat_interleave(NF4_BLOCK, 1)[:, : self.columns]
        codes = codes.view(self.outputs, self.tiles, _WORDS, 8).transpose(2, 3).reshape(self.outputs, -1).float()
        return self._scaled(codes - 8 if self.minima is None else codes)

    def _scaled(self, values: Tensor) -> Tensor:
        """Values of whole tiles by the factors of their blocks of 32."""
        weights = values * self.scales.float().repeat_interleave(BLOCK, 1)
        if self.minima is not None:
            weights += self.minima.float().repeat_interleave(BLOCK, 1)
        return weights[:, : self.columns].contiguous()


def from_bitsandbytes_nf4(data: Tensor, state: Any, *, rounded: bool = False) -> PackedWeight:
    """A `Params4bit`'s data (uint8, [outputs * columns / 2, 1]) and `quant_state`, plain or double-quantised.

    The scales are float32 of our own: 4 bytes for 64 weights. `rounded` rounds the sixteen values of a code to
    bfloat16, which bitsandbytes does to each product of one with its scale; without it a code takes the tensor cores
    two terms. Use one of both for all row counts of a model.
    """
    outputs, columns = state.shape
    if state.quant_type != "nf4" or state.blocksize != NF4_BLOCK or columns % NF4_BLOCK or data.dtype != torch.uint8:
        raise LacliError(f"not NF4 in blocks of {NF4_BLOCK} bytes: {state.quant_type}, {state.blocksize}", _ELSEWHERE)
    blocks = columns // NF4_BLOCK
    scales = torch.zeros((outputs, 2 * -(-columns // TILE)), dtype=torch.float32, device=data.device)
    scales[:, :blocks] = _plain_scales(state).view(outputs, blocks)
    words = data.view(-1).view(torch.int32).view(outputs, columns // 8)
    table = _table(state.code.to(data.device, torch.float32), rounded)
    return PackedWeight("nf4", outputs, columns, words, scales, None, table, 1 if rounded else 2)


def from_bitsandbytes_int8(weight: Tensor, row_maxima: Tensor) -> PackedWeight:
    """An `Int8Params`' int8 [outputs, columns] and its `SCB` [outputs]: a weight is value * SCB / 127.

    Activations stay bfloat16, where LLM.int8 rounds them to int8 with a scale for each row: the weights are the same
    numbers, the products more exact than bitsandbytes' own.
    """
    outputs, columns = weight.shape
    if weight.dtype != torch.int8 or columns % 16:
        raise LacliError(f"int8 rows of {columns} columns are no multiple of 16 bytes", _ELSEWHERE)
    words = weight.contiguous().view(torch.int32)
    return PackedWeight("int8", outputs, columns, words, (row_maxima.float() / 127).contiguous())


def from_blocks(blocks: Blocks, device: torch.device | str = "cpu") -> PackedWeight:
    """A matrix of our files, value for value."""
    outputs, columns = blocks.values.shape
    if columns % BLOCK:
        raise LacliError(f"{columns} columns are no whole blocks of {BLOCK}", _ELSEWHERE)
    tiles = -(-columns // TILE)
    values = _padded(blocks.values, tiles * TILE)
    stored_as: Format = "int8_blocks"
    if blocks.bits == 4:
        stored_as = "int4"
        nibbles = values.reshape(outputs, tiles, 4, 2, _WORDS)  # [.., bytes of a word, its halves, words]
        packed = nibbles[:, :, :, 0] | (nibbles[:, :, :, 1] << 4)
        values = np.ascontiguousarray(packed.transpose(0, 1, 3, 2))
    words = torch.from_numpy(values.reshape(outputs, -1).view("<i4"))
    scales, minima = (
        None if factors is None else torch.from_numpy(_padded(factors, tiles * 4)).to(device)
        for factors in (blocks.scales, blocks.minima)
    )
    assert scales is not None
    return PackedWeight(stored_as, outputs, columns, words.to(device), scales, minima)


def _padded(array: NDArray[Any], count: int) -> NDArray[Any]:
    """[rows, columns] as [rows, count], with zeros."""
    full = np.zeros((array.shape[0], count), dtype=array.dtype)
    full[:, : array.shape[1]] = array
    return full


def _plain_scales(state: Any) -> Tensor:
    """float32 scales of an NF4 matrix, flat; double quantisation undone as bitsandbytes does it."""
    if state.state2 is None:
        return state.absmax.to(torch.float32)
    nested = state.state2
    values = nested.code.to(torch.float32)[state.absmax.view(-1).long()]
    factors = nested.absmax.to(torch.float32).repeat_interleave(nested.blocksize)[: values.numel()]
    return values * factors + state.offset


def _table(code: Tensor, rounded: bool) -> Tensor:
    """int32 [16]: each value as two bfloat16."""
    upper = code.to(torch.bfloat16)
    lower = (code - upper.float()).to(torch.bfloat16)
    if rounded:
        lower = torch.zeros_like(lower)
    return (upper.view(torch.int16).int() << 16) | (lower.view(torch.int16).int() & 0xFFFF)


def _table_values(table: Tensor) -> Tensor:
    """float32 [16]"""
    upper = (table & -0x10000).view(torch.float32)
    return upper + (table << 16).view(torch.float32)


def _nibbles(words: Tensor) -> Tensor:
    """[.., words] as [.., words, 8], the lowest first."""
    return (words.unsqueeze(-1) >> torch.arange(0, 32, 4, device=words.device, dtype=torch.int32)) & 15
