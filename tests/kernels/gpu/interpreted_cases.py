"""A product to compute in Triton's interpreter, and how it compares. No torch: both processes read it."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """One product with random numbers."""

    kind: str
    """nf4, nf4-plain, nf4-rounded, int4, int4-symmetric, int8, int8-blocks, int8-blocks-minima"""
    columns: int
    outputs: int
    rows: int
    shares: int | None = None
    """By default as for a card of 28 processors."""
    values_only: bool = False
    """Whether one product is enough; the rest of its `Outcome` is then taken for granted."""


class Outcome(NamedTuple):
    """How it compares, relative to the largest result."""

    error: float
    """To float64 on the weights as bitsandbytes, or `packing.dequantise`, gives them."""
    own_error: float
    """To float64 on `PackedWeight.dequantised`."""
    apart: bool
    """Whether the first row keeps its bits when all others are NaN."""
    half: bool
    """Whether the result as bfloat16 is the float32 one within a last place: Triton's interpreter cuts off."""
