"""What is measured, in which sizes, and how time is taken on a device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from lacli.models.base import Quant


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a model of the Llama shape."""

    name: str
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    intermediate: int
    vocab: int

    def matrices(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of each matrix of a layer, as the forward for devices joins them."""
        return {
            "qkv": ((self.heads + 2 * self.kv_heads) * self.head_dim, self.hidden),
            "output": (self.hidden, self.heads * self.head_dim),
            "gate_up": (2 * self.intermediate, self.hidden),
            "down": (self.hidden, self.intermediate),
        }


QWEN_7B = Shape("7B", 28, 28, 4, 128, 3584, 18944, 152_064)
QWEN_1_5B = Shape("1.5B", 28, 12, 2, 128, 1536, 8960, 151_936)
TINY = Shape("tiny", 2, 4, 2, 32, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes and repetitions."""

    device: torch.device
    shapes: tuple[Shape, ...]
    quants: tuple[Quant, ...]
    rows: tuple[int, ...]
    context: int
    """Tokens before the steps that are timed."""
    contexts: tuple[int, ...]
    """The same where attention alone is timed."""
    families: tuple[str, ...]
    repeats: int
    copied_bytes: int
    """Of the copy that measures bandwidth."""
    flips: int
    """Tokens at which one row and many are compared."""
    seconds: float
    """After which no further section begins."""

    @staticmethod
    def of(device: torch.device, seconds: float) -> Plan:
        """Everything on CUDA; on a CPU, in tiny sizes, every line of code."""
        families = ("llama", "qwen2", "qwen3", "mistral", "phi3", "gemma2", "gemma3_text")
        rows: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
        if device.type == "cpu":
            return Plan(
                device,
                (TINY,),
                ("none", "nf4", "bnb-int8"),
                (1, 16, 64),
                40,
                (40, 600),
                families,
                2,
                1 << 20,
                24,
                seconds,
            )
        return Plan(
            device, (QWEN_7B, QWEN_1_5B), ("nf4", "bnb-int8", "none"), rows, 1000, (1024, 4096, 16_384), families, 20,
            1 << 30, 256, seconds,
        )  # fmt: skip


class Stopwatch:
    """Times calls on a device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def ms(self, call: Callable[[], object], repeats: int) -> float:
        """Median milliseconds of a call that is waited for, after two that are not counted."""
        spent = []
        for _ in range(repeats + 2):
            self.wait()
            started = time.perf_counter()
            call()
            self.wait()
            spent.append(1000 * (time.perf_counter() - started))
        return statistics.median(spent[2:])

    def each_ms(self, call: Callable[[], object], repeats: int) -> float:
        """Milliseconds of a call among many that are not waited for one by one: what a kernel itself takes."""

        def many() -> None:
            for _ in range(10):
                call()

        return self.ms(many, repeats) / 10

    def wait(self) -> None:
        """Until the device has done all it was given."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
