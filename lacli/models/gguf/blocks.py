"""Quantised tensors of GGUF files as blocks of 32, without rounding them a second time where their form allows it.

Lives here: the bytes of the formats whose blocks map onto ours, and what becomes of the others. May not: know what a
tensor is for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lacli.errors import LacliError
from lacli.kernels.packing import Blocks, Kind, quantise, widen
from lacli.models.gguf.read import GgufTensor, decode

Bits = Literal[4, 8]
_Raw = NDArray[np.uint8]
_WIDE: dict[Kind, Kind] = {"q4": "q8", "q4m": "q8m"}
_ROUNDED_TO_FOUR = ("F64", "F32", "F16", "BF16", "Q8_0")
"""Formats fine enough to be rounded to 4 bits. Another format of few bits would lose too much: it goes to 8 bits."""


def is_four_bits(type_name: str) -> bool:
    """Whether the blocks of this format are 4-bit blocks of ours as they are."""
    return _FORMATS.get(type_name, _OTHER)[1] in _WIDE


def kind_of(type_name: str, bits: Bits) -> Kind:
    """How a tensor of this format is packed where `bits` are wanted; 8 also for 4, where 4 would lose too much."""
    kind = _FORMATS.get(type_name, _OTHER)[1]
    if bits == 4:
        return "q4m" if type_name in _ROUNDED_TO_FOUR else kind
    return _WIDE.get(kind, kind)


def blocks_of(tensor: GgufTensor, bits: Bits, rows: NDArray[np.intp]) -> Blocks:
    """These rows of a matrix, of the kind that `kind_of` says. Raises LacliError for weights that are no numbers."""
    stored = np.memmap(tensor.path, dtype=np.uint8, mode="r", offset=tensor.offset, shape=(tensor.nbytes,))
    raw = np.asarray(stored).reshape(tensor.shape[0], -1)[rows]
    kind = kind_of(tensor.type_name, bits)
    reader, own = _FORMATS.get(tensor.type_name, _OTHER)
    if reader is not None and kind in (own, _WIDE.get(own)):
        blocks = reader(raw, tensor.shape[1])
        if not (np.isfinite(blocks.scales).all() and (blocks.minima is None or np.isfinite(blocks.minima).all())):
            raise LacliError("a weight is not a finite number", "fetch the file again")
        if blocks.bits == 4 or blocks.values.min(initial=0) >= -127:
            return widen(blocks) if kind in _WIDE.values() else blocks
    return quantise(decode(raw, tensor.type_name), 4 if kind == "q4m" else 8)


def _q4(raw: _Raw, columns: int, minima: bool) -> Blocks:
    head, factors = _split(raw, 20 if minima else 18, 2 if minima else 1)
    return Blocks(_nibbles(head).reshape(-1, columns), factors[0], factors[1] if minima else None, 4)


def _q5(raw: _Raw, columns: int, minima: bool) -> Blocks:
    head, factors = _split(raw, 24 if minima else 22, 2 if minima else 1)
    values = _nibbles(head[:, :, 4:])
    fifth = np.unpackbits(head[:, :, :4], axis=2, bitorder="little")
    values |= fifth << 4
    whole = values.view(np.int8)
    if not minima:
        whole -= 16
    return Blocks(whole.reshape(-1, columns), factors[0], factors[1] if minima else None, 8)


def _q8(raw: _Raw, columns: int) -> Blocks:
    values, factors = _split(raw, 34, 1)
    return Blocks(np.ascontiguousarray(values).view(np.int8).reshape(-1, columns), factors[0], None, 8)


def _k(raw: _Raw, columns: int, five: bool) -> Blocks:
    """Q4_K and Q5_K: eight blocks of 32 under two common factors; scales and minima are rounded to float16."""
    rest, (scale, minimum) = _split(raw, 176 if five else 144, 2)
    low, high, both = rest[:, :, :4], rest[:, :, 4:8], rest[:, :, 8:12]
    six_bits = np.concatenate((low & 63, (both & 15) | ((low >> 2) & 48)), axis=2)
    six_bits_less = np.concatenate((high & 63, (both >> 4) | ((high >> 2) & 48)), axis=2)
    with np.errstate(over="ignore"):  # infinite ones are refused
        scales = (scale.astype(np.float32)[:, :, None] * six_bits).astype(np.float16)
        minima = (-minimum.astype(np.float32)[:, :, None] * six_bits_less).astype(np.float16)
    count = raw.shape[0], -1
    nibbles = rest[:, :, -128:].reshape(*rest.shape[:2], 4, 1, 32)
    values = np.concatenate((nibbles & 15, nibbles >> 4), axis=3).reshape(*rest.shape[:2], 8, 32)
    if not five:
        return Blocks(values.reshape(-1, columns), scales.reshape(count), minima.reshape(count), 4)
    fifth = (rest[:, :, 12:44][:, :, None, :] >> np.arange(8, dtype=np.uint8)[:, None]) & 1
    values |= fifth << 4
    return Blocks(values.view(np.int8).reshape(-1, columns), scales.reshape(count), minima.reshape(count), 8)


def _split(raw: _Raw, size: int, factors: int) -> tuple[_Raw, list[NDArray[np.float16]]]:
    """The blocks of each row, [rows, blocks, bytes], apart from the float16 numbers they begin with."""
    blocks = raw.reshape(raw.shape[0], -1, size)
    found = np.ascontiguousarray(blocks[:, :, : 2 * factors]).view("<f2")
    return blocks[:, :, 2 * factors :], [np.ascontiguousarray(found[:, :, index]) for index in range(factors)]


def _nibbles(packed: _Raw) -> _Raw:
    """[..., 16] bytes to 32 values: the low halves, then the high ones."""
    return np.concatenate((packed & 15, packed >> 4), axis=-1)


_Reader = Callable[[Any, int], Blocks]
_OTHER: tuple[_Reader | None, Kind] = (None, "q8")
_FORMATS: dict[str, tuple[_Reader | None, Kind]] = {
    "Q4_0": (lambda raw, columns: _q4(raw, columns, False), "q4"),
    "Q4_1": (lambda raw, columns: _q4(raw, columns, True), "q4m"),
    "Q5_0": (lambda raw, columns: _q5(raw, columns, False), "q8"),
    "Q5_1": (lambda raw, columns: _q5(raw, columns, True), "q8m"),
    "Q8_0": (_q8, "q8"),
    "Q4_K": (lambda raw, columns: _k(raw, columns, False), "q4m"),
    "Q5_K": (lambda raw, columns: _k(raw, columns, True), "q8m"),
}
