"""The structures of `src/lacli.h`, field by field, and the arrays behind them.

Lives here: `Matrix`, `Model` and `Cache`, which check sizes and types, keep what their pointers point into alive, and
hand the C side its structure. May not: call the library (that is `library`), know files or torch. A wrong size, type
or alignment is a ValueError: callers have checked what comes from users.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, Structure, c_float, c_int32, c_void_p, pointer
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lacli.kernels import packing

Kind = Literal["q4", "q4m", "q8", "q8m", "f32", "bf16"]
CacheKind = Literal["f32", "f16"]
KINDS: dict[str, int] = {"q4": 1, "q4m": 2, "q8": 3, "q8m": 4, "f32": 5, "bf16": 6, "f16": 7}
"""The numbers of lacli.h: LACLI_Q4 and so on."""
ALIGNMENT = 64
SLOTS = 16
"""Slots of a cache that lie side by side; its capacity is a multiple."""


class CMatrix(Structure):
    """lacli_matrix"""

    _fields_ = [
        ("kind", c_int32),
        ("rows", c_int32),
        ("columns", c_int32),
        ("reserved", c_int32),
        ("data", c_void_p),
        ("bias", c_void_p),
    ]


class CLayer(Structure):
    """lacli_layer"""

    _fields_ = [
        ("input_norm", c_void_p),
        ("post_norm", c_void_p),
        ("query_norm", c_void_p),
        ("key_norm", c_void_p),
        ("query", CMatrix),
        ("key", CMatrix),
        ("value", CMatrix),
        ("output", CMatrix),
        ("gate", CMatrix),
        ("up", CMatrix),
        ("down", CMatrix),
        ("window", c_int32),
        ("reserved", c_int32),
    ]


class CModel(Structure):
    """lacli_model"""

    _fields_ = [
        ("layers", c_int32),
        ("heads", c_int32),
        ("kv_heads", c_int32),
        ("head_dim", c_int32),
        ("hidden", c_int32),
        ("intermediate", c_int32),
        ("vocab", c_int32),
        ("reserved", c_int32),
        ("norm_epsilon", c_float),
        ("query_scale", c_float),
        ("layer", POINTER(CLayer)),
        ("embedding", CMatrix),
        ("head", CMatrix),
        ("final_norm", c_void_p),
    ]


class CCache(Structure):
    """lacli_cache"""

    _fields_ = [("kind", c_int32), ("capacity", c_int32), ("keys", c_void_p), ("values", c_void_p)]


class CPart(Structure):
    """lacli_part"""

    _fields_ = [("cache", POINTER(CCache)), ("length", c_int32), ("rows", c_int32)]


class CRows(Structure):
    """lacli_rows"""

    _fields_ = [
        ("rows", c_int32),
        ("wanted", c_int32),
        ("token_ids", c_void_p),
        ("parents", c_void_p),
        ("wanted_rows", c_void_p),
        ("cosine", c_void_p),
        ("sine", c_void_p),
        ("logits", c_void_p),
        ("top_ids", c_void_p),
        ("top_logits", c_void_p),
    ]


def address(array: NDArray[Any], what: str, dtype: type, shape: tuple[int, ...], alignment: int = 0) -> int:
    """Where the array lies, at a multiple of its element's size or of `alignment`.

    Raises ValueError where it is not of this type and shape, not in one piece, or not aligned.
    """
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        pieces = "" if array.flags.c_contiguous else ", not contiguous"
        raise ValueError(
            f"{what} is {array.dtype} {list(array.shape)}{pieces}; {np.dtype(dtype)} {list(shape)} is expected"
        )
    where: int = array.__array_interface__["data"][0]
    if where % (alignment or array.itemsize):
        raise ValueError(f"{what} is not aligned to {alignment or array.itemsize} bytes")
    return where


def aligned(shape: tuple[int, ...], dtype: type) -> NDArray[Any]:
    """Zeros that begin at a multiple of 64 bytes, without touching their pages."""
    count = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    raw = np.zeros(count + ALIGNMENT, dtype=np.uint8)
    start = -raw.__array_interface__["data"][0] % ALIGNMENT
    return raw[start : start + count].view(dtype).reshape(shape)


def in_place(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Packed data itself where it is aligned, as in every file that lacli writes; else a copy that is."""
    if data.__array_interface__["data"][0] % ALIGNMENT == 0:
        return data
    copy = aligned(data.shape, np.uint8)
    copy[...] = data
    return copy


class Matrix:
    """A matrix the library can multiply by."""

    __slots__ = ("_kept", "columns", "kind", "rows", "struct")

    def __init__(
        self, kind: Kind, data: NDArray[Any], rows: int, columns: int, bias: NDArray[np.float32] | None = None
    ) -> None:
        """data: as `packing.pack` gives it, or float32 [rows, columns], or bfloat16 as uint16 [rows, columns]."""
        if kind not in get_args(Kind):
            raise ValueError(f"{kind} is no kind of matrix")
        if rows < 1 or columns < 1:
            raise ValueError(f"a matrix of {rows} x {columns} is none")
        if kind in ("f32", "bf16"):
            where = address(data, f"a {kind} matrix", np.float32 if kind == "f32" else np.uint16, (rows, columns))
        else:
            shape = packing.shape(kind, rows, columns)  # type: ignore[arg-type]
            where = address(data, f"a {kind} matrix of {rows} x {columns}", np.uint8, shape, ALIGNMENT)
        self.kind, self.rows, self.columns = kind, rows, columns
        self._kept = (data, bias)
        self.struct = CMatrix(
            KINDS[kind], rows, columns, 0, where, None if bias is None else address(bias, "a bias", np.float32, (rows,))
        )


@dataclass(frozen=True, slots=True)
class Layer:
    """The parts of one layer; norms are float32."""

    input_norm: NDArray[np.float32]
    post_norm: NDArray[np.float32]
    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix
    gate: Matrix
    up: Matrix
    down: Matrix
    query_norm: NDArray[np.float32] | None = None
    """[head_dim], of each head before rotation (Qwen3)"""
    key_norm: NDArray[np.float32] | None = None
    window: int = 0
    """Positions a row sees, itself included; 0 is all."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of a decoder of the Llama shape."""

    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    intermediate: int
    vocab: int
    norm_epsilon: float


class Model:
    """All matrices of a decoder, as the library reads them."""

    def __init__(
        self,
        sizes: Sizes,
        layers: Sequence[Layer],
        embedding: Matrix,
        head: Matrix,
        final_norm: NDArray[np.float32],
    ) -> None:
        self.sizes, self.layers = sizes, tuple(layers)
        self._kept = (embedding, head, final_norm)
        queries, keys = sizes.heads * sizes.head_dim, sizes.kv_heads * sizes.head_dim
        expected = {
            "query": (queries, sizes.hidden),
            "key": (keys, sizes.hidden),
            "value": (keys, sizes.hidden),
            "output": (sizes.hidden, queries),
            "gate": (sizes.intermediate, sizes.hidden),
            "up": (sizes.intermediate, sizes.hidden),
            "down": (sizes.hidden, sizes.intermediate),
        }

        def struct(layer: Layer) -> CLayer:
            norms: list[int | None] = [
                address(layer.input_norm, "a norm", np.float32, (sizes.hidden,)),
                address(layer.post_norm, "a norm", np.float32, (sizes.hidden,)),
            ]
            norms += [
                None if norm is None else address(norm, "a head's norm", np.float32, (sizes.head_dim,))
                for norm in (layer.query_norm, layer.key_norm)
            ]
            matrices = [_checked(getattr(layer, name), name, shape) for name, shape in expected.items()]
            return CLayer(*norms, *matrices, layer.window, 0)

        if not layers:
            raise ValueError("a model has at least one layer")
        self._structs = (CLayer * len(layers))(*map(struct, layers))
        shape = (sizes.vocab, sizes.hidden)
        self.struct = CModel(
            len(layers),
            sizes.heads,
            sizes.kv_heads,
            sizes.head_dim,
            sizes.hidden,
            sizes.intermediate,
            sizes.vocab,
            0,
            sizes.norm_epsilon,
            sizes.head_dim**-0.5,
            self._structs,
            _checked(embedding, "embedding", shape),
            _checked(head, "head", shape),
            address(final_norm, "the last norm", np.float32, (sizes.hidden,)),
        )
        self.pointer = pointer(self.struct)


def _checked(matrix: Matrix, name: str, shape: tuple[int, int]) -> CMatrix:
    if (matrix.rows, matrix.columns) != shape:
        raise ValueError(f"{name} is {matrix.rows} x {matrix.columns}; {shape[0]} x {shape[1]} is expected")
    return matrix.struct


@dataclass(frozen=True, slots=True)
class Part:
    """The share of one sequence in a forward."""

    cache: Cache
    """Its own."""
    length: int
    """Positions cached."""
    rows: int
    """Rows behind them."""


class Cache:
    """Keys and values of one sequence, by `model`: two buffers that grow. How many slots are filled is the owner's."""

    def __init__(self, model: Model, kind: CacheKind) -> None:
        self.model, self.kind = model, kind
        self.capacity = 0
        self._allocate(0)

    @property
    def nbytes(self) -> int:
        """Bytes of both buffers."""
        return self.keys.nbytes + self.values.nbytes

    @property
    def slot_bytes(self) -> int:
        """Bytes of one slot in both."""
        sizes = self.model.sizes
        return 2 * len(self.model.layers) * sizes.kv_heads * sizes.head_dim * self.keys.itemsize

    def reserve(self, needed: int, filled: int, wish: int) -> None:
        """Make room for `needed` slots, taking `wish` where more is needed, and keep the first `filled`.

        Raises MemoryError and then leaves the cache as it was.
        """
        if needed <= self.capacity:
            return
        keys, values = self.keys, self.values
        self._allocate(-(-max(needed, wish) // SLOTS) * SLOTS)
        blocks = -(-filled // SLOTS)
        self.keys[:, :, :blocks] = keys[:, :, :blocks]
        self.values[:, :, :filled] = values[:, :, :filled]

    def copy(self, other: Cache, filled: int) -> None:
        """Take the first `filled` slots of a cache of the same kind and model; both must have room for them."""
        blocks = -(-filled // SLOTS)
        self.keys[:, :, :blocks] = other.keys[:, :, :blocks]
        self.values[:, :, :filled] = other.values[:, :, :filled]

    def taken_out(self, first: int, count: int) -> bytes:
        """Keys and values of `count` slots, both numbers multiples of `SLOTS`."""
        keys = self.keys[:, :, first // SLOTS : (first + count) // SLOTS]
        return keys.tobytes() + self.values[:, :, first : first + count].tobytes()

    def put_back(self, first: int, count: int, data: memoryview) -> None:
        """What `taken_out` gave, into slots there is room for."""
        keys = self.keys[:, :, first // SLOTS : (first + count) // SLOTS]
        values = self.values[:, :, first : first + count]
        keys[...] = np.frombuffer(data[: keys.nbytes], dtype=keys.dtype).reshape(keys.shape)
        values[...] = np.frombuffer(data[keys.nbytes :], dtype=values.dtype).reshape(values.shape)

    def _allocate(self, capacity: int) -> None:
        dtype = np.float32 if self.kind == "f32" else np.float16
        layers, heads, width = len(self.model.layers), self.model.sizes.kv_heads, self.model.sizes.head_dim
        keys = aligned((layers, heads, capacity // SLOTS, width, SLOTS), dtype)
        values = aligned((layers, heads, capacity, width), dtype)
        self.capacity, self.keys, self.values = capacity, keys, values
        self.struct = CCache(
            KINDS[self.kind],
            capacity,
            keys.__array_interface__["data"][0],
            values.__array_interface__["data"][0],
        )
        self.pointer = pointer(self.struct)
