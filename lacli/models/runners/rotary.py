"""Rotary position embeddings of the fused runners: one table of cosines and sines, the same bits however it grew.

The generic runner uses transformers' own (`generic.rope`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacli.models.runners.fused.config import FusedConfig

_FIRST_POSITIONS = 512
_WHOLE_VECTORS = 64
"""Positions are added by so many, so that no vectorised loop has elements left over, which it would round otherwise."""


def inverse_frequencies(config: FusedConfig) -> NDArray[np.float32]:
    """Rotary frequencies of a model of the Llama shape, float32 [head_dim / 2]."""
    return frequencies(config.rope, config.head_dim)


def powers_of(theta: float, width: int) -> NDArray[np.float32]:
    """theta ^ (2i / width), float32 [width / 2].

    Taken in float64 and rounded once: libraries' float32 powers differ in the last bit from each other.
    """
    exponents = (np.arange(0, width, 2) / np.float32(width)).astype(np.float32)
    return (np.float64(theta) ** exponents.astype(np.float64)).astype(np.float32)


def frequencies(rope: dict[str, Any], width: int) -> NDArray[np.float32]:
    """Frequencies for rope types default, linear and llama3 as in transformers, float32 [width / 2]."""
    inverse = np.float32(1.0) / powers_of(rope["rope_theta"], width)
    if rope["rope_type"] == "linear":
        return inverse / np.float32(rope["factor"])
    if rope["rope_type"] == "llama3":
        factor, low, high = (np.float32(rope[key]) for key in ("factor", "low_freq_factor", "high_freq_factor"))
        old_context = np.float32(rope["original_max_position_embeddings"])
        wavelength = np.float32(2 * math.pi) / inverse
        smooth = (old_context / wavelength - low) / (high - low)
        blended = (1 - smooth) * inverse / factor + smooth * inverse
        scaled = np.where(wavelength > old_context / low, inverse / factor, inverse)
        medium = (wavelength <= old_context / low) & (wavelength >= old_context / high)
        return np.where(medium, blended, scaled)
    return inverse


class RotaryTable:
    """Cosine and sine of every position up to now, float32 [positions, head_dim / 2]."""

    def __init__(self, config: FusedConfig) -> None:
        self._inverse = inverse_frequencies(config)
        empty: NDArray[np.float32] = np.empty((0, config.head_dim // 2), dtype=np.float32)
        self.cosine, self.sine = empty, empty

    def reserve(self, positions: int) -> None:
        """Make the table at least so long; it grows by doubling."""
        if positions <= len(self.cosine):
            return
        count = max(positions, 2 * len(self.cosine), _FIRST_POSITIONS)
        count = -(-count // _WHOLE_VECTORS) * _WHOLE_VECTORS
        # The angle is rounded to float32 as in transformers; what is made of it, once.
        angles = (np.arange(count, dtype=np.float32)[:, None] * self._inverse).astype(np.float64)
        self.cosine, self.sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
