"""Linear layers of the forward for devices: weight formats, the kernels for each, and which kernel is used when.

The only place that chooses a kernel. A format offers its kernels as `Way`s; if there are several, `Tuner` times them at
load for each shape and row bucket and takes the fastest, so that no table of graphics cards is needed
(research/kernels.md §1.2). On a CPU every format has one way and nothing is timed. bitsandbytes and our Triton kernels
are imported only when a format needs them.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from lacli.errors import LacliError, UsageError
from lacli.models.base import Quant
from lacli.models.runners.blame import is_own_bug
from lacli.models.runners.fused.device.buckets import ROWS, bucket_of
from lacli.models.runners.fused.device.tuned import Choices

BUCKETS = (*ROWS, 512)
"""Rows a choice is made for: those of steps, and the chunk of a prompt."""
NF4_BLOCK = 64
"""Weights of an NF4 block."""


class Linear(Protocol):
    """y = x W^T + b."""

    def __call__(self, x: Tensor) -> Tensor:
        """x: [rows, in], in the dtype of the model -> [rows, out] in the same, or of a head in float32."""
        ...


@dataclass(frozen=True, slots=True)
class Way:
    """One kernel for a matrix."""

    name: str
    run: Linear
    most_rows: int = 1 << 30
    """Rows it can take."""
    rounds_input: bool = False
    """Whether it quantises the activations, too."""


class Chosen:
    """A matrix, and the way it is multiplied by for each bucket of rows."""

    def __init__(self, ways: Sequence[Way], choice: dict[int, int]) -> None:
        self._runs = {bucket: ways[place].run for bucket, place in choice.items()}
        self.names = {bucket: ways[place].name for bucket, place in choice.items()}

    def __call__(self, x: Tensor) -> Tensor:
        """See `Linear`."""
        return self._runs[bucket_of(len(x), BUCKETS)](x)


Timer = Callable[[Linear, Tensor], float]


class Tuner:
    """Chooses the fastest way; once its time budget is used up, the first way that takes the number of rows."""

    def __init__(
        self,
        device: torch.device,
        dtype: torch.dtype,
        budget_s: float = 2.0,
        timer: Timer | None = None,
        known: Choices | None = None,
    ) -> None:
        """known: what was chosen before; a choice among the same ways is not made again."""
        self.device, self.dtype = device, dtype
        self._left_s = budget_s
        self._timer = timer or _cuda_ms
        self.choices: Choices = dict(known or {})
        """Shape and ways -> bucket -> name of the way; matrices of one shape share a choice."""
        self.complete = True
        """Whether every choice was timed. If not, the choices are not stored."""

    def chosen(self, ways: Sequence[Way], rows: int, columns: int) -> Linear:
        """The linear of a matrix [rows, columns]."""
        if len(ways) == 1:
            return ways[0].run
        places = {way.name: place for place, way in enumerate(ways)}
        key = f"{rows}x{columns} {self.dtype} {' | '.join(places)}"
        choice = self.choices.get(key, {})
        if set(choice) != set(map(str, BUCKETS)) or not set(choice.values()) <= set(places):
            choice = {}
            for buckets in _chosen_together(ways):
                name = ways[self._best(ways, buckets, columns)].name
                choice |= dict.fromkeys(map(str, buckets), name)
            self.choices[key] = choice
        return Chosen(ways, {bucket: places[choice[str(bucket)]] for bucket in BUCKETS})

    def _best(self, ways: Sequence[Way], buckets: Sequence[int], columns: int) -> int:
        """The way that takes least time for a call of each of these numbers of rows."""
        fitting = [place for place, way in enumerate(ways) if buckets[-1] <= way.most_rows]
        if len(fitting) == 1:
            return fitting[0]
        if self._left_s <= 0:
            self.complete = False
            return fitting[0]
        started = time.perf_counter()
        inputs = [torch.randn(bucket, columns, device=self.device).to(self.dtype) for bucket in buckets]
        times = {place: sum(self._timer(ways[place].run, x) for x in inputs) for place in fitting}
        self._left_s -= time.perf_counter() - started
        return min(times, key=lambda place: times[place])


def _chosen_together(ways: Sequence[Way]) -> list[tuple[int, ...]]:
    """Groups of buckets; all buckets of a group take the same kernel.

    Kernels that differ in the order of their sums may be mixed. Kernels that quantise activations must not be mixed
    with those that do not: their results differ by far more than rounding, and lookahead would change the text.
    """
    if len({way.rounds_input for way in ways}) == 1:
        return [(bucket,) for bucket in BUCKETS]
    return [ROWS, BUCKETS[len(ROWS) :]]


def _cuda_ms(linear: Linear, x: Tensor, repeats: int = 5) -> float:
    """Least milliseconds of a call on the device; infinite where the kernel fails with this shape or dtype.

    It may fail with anything: Triton's compiler and launcher have exceptions of their own.
    """
    try:
        linear(x)
    except Exception as error:
        if is_own_bug(error):
            raise
        return math.inf
    least = math.inf
    for _ in range(repeats):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record()
        linear(x)
        after.record()
        after.synchronize()
        least = min(least, before.elapsed_time(after))
    return least


@dataclass(frozen=True, slots=True)
class Dense:
    """Unquantised weights."""

    weight: Tensor
    bias: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """See `Linear`."""
        return nn.functional.linear(x, self.weight, self.bias)


@dataclass(frozen=True, slots=True)
class Unrounded:
    """`Dense` without bias, with float32 results: different logits often round to the same bfloat16."""

    weight: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """See `Linear`."""
        return torch.mm(x, self.weight.t(), out_dtype=torch.float32)


def head_of(weight: Tensor) -> Linear:
    """The output head of weights that are not quantised: unrounded where the device has such a product."""
    if weight.dtype == torch.float32:
        return Dense(weight)
    with contextlib.suppress(RuntimeError, TypeError):
        unrounded = Unrounded(weight)
        unrounded(torch.zeros(1, weight.shape[1], dtype=weight.dtype, device=weight.device))
        return unrounded
    return Dense(weight)


class Nf4:
    """bitsandbytes' NF4 in blocks of 64, scales quantised, too."""

    def __init__(self, packed: Tensor, state: Any, bias: Tensor | None) -> None:
        """packed, state: as `bitsandbytes.functional.quantize_4bit` gives them, or a checkpoint holds them."""
        self.packed, self.state, self.bias = packed, state, bias

    @staticmethod
    def of(weight: Tensor, bias: Tensor | None) -> Nf4:
        """Quantise [rows, columns] on the device it lies on."""
        from bitsandbytes.functional import quantize_4bit

        packed, state = quantize_4bit(
            weight.contiguous(), blocksize=NF4_BLOCK, quant_type="nf4", compress_statistics=True
        )
        return Nf4(packed, state, bias)

    @staticmethod
    def joined(parts: Sequence[tuple[Tensor, Tensor, int]], code: Tensor, columns: int, bias: Tensor | None) -> Nf4:
        """Matrices one below the other, from what a file holds of each: packed bytes, float32 scales, rows.

        Their scales are no longer quantised: those of different matrices have different offsets. code: float32 [16].
        Raises ValueError where blocks would reach over the end of a row.
        """
        from bitsandbytes.functional import QuantState

        if columns % NF4_BLOCK:
            raise ValueError(f"rows of {columns} are no multiple of a block of {NF4_BLOCK}")
        packed = torch.cat([part.view(-1, 1) for part, _, _ in parts])
        scales = torch.cat([part.view(-1) for _, part, _ in parts])
        shape = torch.Size((sum(rows for _, _, rows in parts), columns))
        state = QuantState(absmax=scales, shape=shape, code=code, blocksize=NF4_BLOCK, quant_type="nf4")
        return Nf4(packed, state, bias)

    def ways(self) -> list[Way]:
        """bitsandbytes' own dispatch first, then the kernels that it may not choose."""
        found = [Way("bitsandbytes", self._dispatched)]
        if self.packed.is_cuda:
            found += _forced(self)
            found += _triton(lambda weights: weights.from_bitsandbytes_nf4(self.packed, self.state), self.bias)
        return found

    def _dispatched(self, x: Tensor) -> Tensor:
        from bitsandbytes import matmul_4bit  # type: ignore[attr-defined]  # not listed as exported

        return matmul_4bit(x, self.packed, quant_state=self.state, bias=self.bias)


def _forced(weight: Nf4) -> list[Way]:
    """bitsandbytes' fused kernel for any number of rows, also where bitsandbytes' heuristic would not choose it."""
    with contextlib.suppress(ImportError, AttributeError):
        from bitsandbytes.backends.cuda.ops import _gemm_4bit_kernel_impl as kernel

        state, nested = weight.state, weight.state.state2
        scales, more = state.absmax, {}
        if nested is not None:
            scales = nested.absmax
            more = {"absmax_8bit": state.absmax, "absmax_code": nested.code, "absmax_offset": state.offset}

        def run(x: Tensor) -> Tensor:
            return kernel(
                x, weight.packed, state.shape, scales, state.blocksize, state.quant_type, bias=weight.bias, **more
            )

        return [Way("bitsandbytes fused", run, ROWS[-1])]
    return []


class Int8:
    """bitsandbytes' LLM.int8 without outliers: a scale per output row, activations with one per row."""

    def __init__(self, packed: Tensor, scales: Tensor, bias: Tensor | None) -> None:
        """packed: int8 [rows, columns]; scales: float32 [rows], of 127."""
        self.packed, self.scales = packed, scales
        self.bias = None if bias is None else bias.to(torch.float16)

    @staticmethod
    def of(weight: Tensor, bias: Tensor | None) -> Int8:
        """Quantise [rows, columns]."""
        from bitsandbytes.functional import int8_vectorwise_quant

        packed, scales, _ = int8_vectorwise_quant(weight.to(torch.float16))
        return Int8(packed, scales, bias)

    def ways(self) -> list[Way]:
        """See `Nf4.ways`."""
        found = [Way("bitsandbytes", self._dispatched, rounds_input=True)]
        if self.packed.is_cuda:
            found += _triton(lambda weights: weights.from_bitsandbytes_int8(self.packed, self.scales), self.bias)
        return found

    def _dispatched(self, x: Tensor) -> Tensor:
        ops = torch.ops.bitsandbytes
        quantised, scales, _ = ops.int8_vectorwise_quant.default(x.to(torch.float16), 0.0)
        return ops.int8_scaled_mm.default(quantised, self.packed, scales, self.scales, bias=self.bias, dtype=x.dtype)


def _triton(pack: Callable[[Any], Any], bias: Tensor | None) -> list[Way]:
    """Our kernel for few rows, where Triton is. pack: given `lacli.kernels.triton.weights`, the matrix for it."""
    if find_spec("triton") is None:
        return []
    try:
        weights, small_m = (importlib.import_module(f"lacli.kernels.triton.{name}") for name in ("weights", "small_m"))
        packed = pack(weights)
    except (ImportError, LacliError):  # a release without it, or a matrix of a shape it does not take
        return []

    def run(x: Tensor) -> Tensor:
        y: Tensor = small_m.matmul(x, packed)
        return y if bias is None else y + bias.to(y.dtype)

    return [Way("triton", run, ROWS[-1])]


def linear_of(weight: Tensor, bias: Tensor | None, quant: Quant, tuner: Tuner) -> Linear:
    """A linear of this weight [rows, columns], which lies on the device in the dtype of the model.

    quant: none, nf4 or bnb-int8. Raises UsageError where bitsandbytes is missing.
    """
    rows, columns = weight.shape
    if quant not in ("nf4", "bnb-int8"):
        return Dense(weight, bias)
    if find_spec("bitsandbytes") is None:
        raise UsageError(f"--quant {quant} needs bitsandbytes, not installed here", "run `pip install bitsandbytes`")
    made = Nf4.of(weight, bias) if quant == "nf4" else Int8.of(weight, bias)
    return tuner.chosen(made.ways(), rows, columns)
