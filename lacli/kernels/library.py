"""Opens the C library `_step.so` and calls it: the only user of ctypes.

Lives here: finding it, the checks before it is trusted, its threads, one method per function of `src/lacli.h`. May not:
know files of models, or torch. `library()` is None where there is none; callers then use PyTorch. `LACLI_KERNEL` in the
environment is for tests and comparisons: `torch` switches the library off, any other name picks an instruction set.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacli.errors import UsageError
from lacli.kernels import packing
from lacli.kernels.structs import Cache, CCache, CMatrix, CModel, CPart, CRows, Matrix, Part, address, in_place

ABI = 2
TOP = 8
"""Best tokens a forward returns of each wanted row."""
ISAS = ("avx512-vnni", "avx2", "neon-dot", "portable")
_PATH = Path(__file__).with_name("_step.so")
_ERRORS = {
    -1: ValueError("the library was given a size that it does not allow"),
    -2: ValueError("the library does not know this kind of matrix or cache"),
    -3: MemoryError("no memory for the work space"),
    -4: IndexError("a token id, parent or wanted row is out of range"),
}


class Library:
    """The opened library and its threads. Calls from several threads take turns."""

    def __init__(self, path: Path) -> None:
        """Raises OSError where it cannot be opened, AttributeError where it lacks a function."""
        self._c = ctypes.CDLL(str(path))
        self._lock = threading.Lock()
        self._threads = 1
        self._pool: int | None = None
        os.register_at_fork(after_in_child=self._forget_parent)
        pool, matrix, model, cache = c_void_p, POINTER(CMatrix), POINTER(CModel), POINTER(CCache)
        for name, result, arguments in (
            ("abi", c_int, []),
            ("isa", c_char_p, []),
            ("set_isa", c_int, [c_char_p]),
            ("threads_new", c_void_p, [c_int]),
            ("threads_free", None, [pool]),
            ("matmul", c_int, [pool, matrix, c_int32, c_void_p, c_void_p]),
            ("forward", c_int, [pool, model, POINTER(CPart), c_int32, POINTER(CRows)]),
            ("keep", c_int, [model, cache, c_int32, c_int32, c_void_p]),
            ("read", c_uint64, [pool, c_void_p, c_size_t]),
        ):
            function = getattr(self._c, f"lacli_{name}")
            function.restype, function.argtypes = result, arguments

    @property
    def abi(self) -> int:
        """The version of its binary interface."""
        return int(self._c.lacli_abi())

    @property
    def isa(self) -> str:
        """The instruction set in use, as `--stats` names it."""
        return str(self._c.lacli_isa().decode())

    def use(self, isa: str) -> None:
        """Take another instruction set; ValueError where this machine has no such."""
        if self._c.lacli_set_isa(isa.encode()):
            raise ValueError(f"this machine has no {isa}")

    @property
    def threads(self) -> int:
        """How many threads share the work, the caller's among them."""
        return self._threads

    def set_threads(self, count: int) -> None:
        """From the next call on."""
        if count < 1:
            raise ValueError(f"{count} threads cannot work")
        with self._lock:
            if count != self._threads:
                self._free()
                self._threads = count

    def close(self) -> None:
        """End the threads; a later call starts new ones."""
        with self._lock:
            self._free()

    def matmul(
        self, matrix: Matrix, x: NDArray[np.float32], y: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """x W^T + b; x: [rows, matrix.columns] -> y: [rows, matrix.rows]"""
        rows = x.shape[0] if x.ndim == 2 else -1
        source = address(x, "x", np.float32, (rows, matrix.columns))
        if y is None:
            y = np.empty((rows, matrix.rows), dtype=np.float32)
        result = address(y, "y", np.float32, (rows, matrix.rows))
        with self._lock:
            _check(self._c.lacli_matmul(self._running(), byref(matrix.struct), rows, source, result))
        return y

    def forward(
        self,
        parts: Sequence[Part],
        token_ids: Sequence[int],
        parents: Sequence[int],
        wanted: Sequence[int],
        cosine: NDArray[np.float32],
        sine: NDArray[np.float32],
        logits: NDArray[np.float32],
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Run the model of the caches on the rows of all parts, each over its own cached positions.

        The rows of a part lie side by side, in the order of the parts; parents and wanted rows count from the first
        row of all. Fills logits [wanted, vocab] and returns their top ids and logits. cosine, sine: [positions,
        head_dim / 2], of at least the `length` of every part and one for each of its rows. Raises IndexError for an id,
        parent or wanted row out of range, ValueError for other sizes, MemoryError. What a cache holds before `length`
        never changes.
        """
        if len({id(part.cache.model) for part in parts}) != 1 or len({id(part.cache) for part in parts}) < len(parts):
            raise ValueError("the parts of a forward have one model, and each a cache of its own")
        model, rows = parts[0].cache.model, len(token_ids)
        half = model.sizes.head_dim // 2
        if len(parents) != rows or sum(part.rows for part in parts) != rows:
            raise ValueError(f"{rows} rows have {len(parents)} parents and parts of {[part.rows for part in parts]}")
        for part in parts:
            _check_part(part, cosine)
        ids, above, want = (_int32(values) for values in (token_ids, parents, wanted))
        top_ids = np.empty((len(want), TOP), dtype=np.int32)
        top_logits = np.empty((len(want), TOP), dtype=np.float32)
        struct = CRows(
            rows,
            len(want),
            _start(ids),
            _start(above),
            _start(want),
            address(cosine, "cosine", np.float32, (len(cosine), half)),
            address(sine, "sine", np.float32, (len(cosine), half)),
            address(logits, "logits", np.float32, (len(want), model.sizes.vocab)),
            _start(top_ids),
            _start(top_logits),
        )
        structs = (CPart * len(parts))(*[CPart(part.cache.pointer, part.length, part.rows) for part in parts])
        with self._lock:
            _check(self._c.lacli_forward(self._running(), model.pointer, structs, len(parts), byref(struct)))
        return top_ids, top_logits

    def keep(self, cache: Cache, length: int, path: Sequence[int]) -> None:
        """Move the slots of these rows of the last forward, ascending, behind the first `length` ones."""
        if length < 0 or (len(path) and not 0 <= max(path) < cache.capacity - length):
            raise ValueError(f"rows {list(path)} after {length} do not lie in a cache of {cache.capacity}")
        rows = _int32(path)
        with self._lock:
            _check(self._c.lacli_keep(cache.model.pointer, cache.pointer, length, len(rows), _start(rows)))

    def read(self, data: NDArray[Any]) -> int:
        """Read the array with all threads, as fast as memory gives it; a checksum."""
        if not data.flags.c_contiguous:
            raise ValueError("the data is not contiguous")
        with self._lock:
            return int(self._c.lacli_read(self._running(), _start(data), data.nbytes))

    def _running(self) -> int:
        """The pool of threads, started by the first call."""
        if self._pool is None:
            self._pool = self._c.lacli_threads_new(self._threads)
            if self._pool is None and self._threads > 1:  # a limit on processes: one thread gives the same bits
                self._threads = 1
                self._pool = self._c.lacli_threads_new(1)
            if self._pool is None:
                raise MemoryError("there is no memory for the threads")
        return self._pool

    def _free(self) -> None:
        if self._pool is not None:
            self._c.lacli_threads_free(self._pool)
        self._pool = None

    def _forget_parent(self) -> None:
        """A forked child has none of its parent's threads: not the pool's, nor one that would give the lock back."""
        self._lock, self._pool = threading.Lock(), None


def library() -> Library | None:
    """The library, or None where it is not built, not for this machine, or switched off.

    Raises UsageError where LACLI_KERNEL names what is not there.
    """
    return _opened()[0]


def why_not() -> str:
    """Why there is no library, in one line; empty where there is."""
    return _opened()[1]


@functools.cache
def _opened() -> tuple[Library | None, str]:
    asked = os.environ.get("LACLI_KERNEL", "")
    if asked == "torch":
        return None, "LACLI_KERNEL=torch switches the C kernels off"
    if asked and asked not in ISAS:
        raise UsageError(f"LACLI_KERNEL={asked} is no kernel", f"use one of torch, {', '.join(ISAS)}")
    found, reason = _open(_PATH)
    if asked and found is None:
        raise UsageError(f"LACLI_KERNEL={asked} cannot be used: {reason}", "unset it")
    if asked and found is not None:
        try:
            found.use(asked)
        except ValueError as error:
            raise UsageError(f"LACLI_KERNEL={asked} cannot be used: {error}", "unset it") from error
    return found, reason


def _open(path: Path) -> tuple[Library | None, str]:
    if not path.exists():
        return None, "the C kernels are not built (install lacli where there is a C compiler)"
    try:
        found = Library(path)
    except (OSError, AttributeError) as error:
        return None, f"the C kernels cannot be opened: {str(error).splitlines()[0]}"
    if found.abi != ABI:
        return None, "the C kernels are of another version of lacli (install it again)"
    fault = _fault(found)
    return (None, f"the C kernels fail their self-test here: {fault}") if fault else (found, "")


def _fault(found: Library) -> str:
    """What a small product with known numbers gets wrong; empty where nothing. A few milliseconds."""
    rows, columns = 40, 72
    # Whole numbers with 127 in every block are quantised without rounding, so the product is known to the last bits.
    x = (np.arange(16 * columns).reshape(16, columns) * 7919 % 201 - 100).astype(np.float32)
    x[:, ::32] = 127
    weight = np.sin(np.arange(rows * columns) * 1e4).astype(np.float32).reshape(rows, columns)  # in no order
    eight, four = packing.quantise(weight, 8), packing.quantise(weight, 4)
    for blocks in (eight, four, packing.widen(four)):
        matrix = Matrix(blocks.kind, in_place(packing.pack(blocks)), rows, columns)
        y = found.matmul(matrix, x)
        expected = x.astype(np.float64) @ packing.dequantise(blocks).astype(np.float64).T
        if not np.allclose(y, expected, rtol=1e-4, atol=1e-2):
            return f"{blocks.kind} on {found.isa} gives wrong results"
        if any(not np.array_equal(found.matmul(matrix, x[row : row + 1])[0], y[row]) for row in (0, 15)):
            return f"{blocks.kind} on {found.isa} is not exact by row"
    return ""


def _check_part(part: Part, cosine: NDArray[np.float32]) -> None:
    if part.length < 0 or part.length + part.rows > part.cache.capacity:
        raise ValueError(f"{part.rows} rows after {part.length} do not fit a cache of {part.cache.capacity}")
    if cosine.ndim != 2 or cosine.shape[0] < part.length + part.rows:
        raise ValueError(
            f"the rotary table ends at {cosine.shape[0]}; {part.rows} rows after {part.length} may go beyond"
        )


def _check(code: int) -> None:
    if code:
        error = _ERRORS.get(code, RuntimeError(f"the library failed with {code}"))
        raise type(error)(*error.args)


def _int32(values: Sequence[int]) -> NDArray[np.int32]:
    """Raises IndexError where a value is beyond 32 bits: no id, parent or row is."""
    try:
        return np.array(values, dtype=np.int32)
    except OverflowError as error:
        raise IndexError("a token id, parent or wanted row is out of range") from error


def _start(array: NDArray[Any]) -> int:
    where: int = array.__array_interface__["data"][0]
    return where
