"""Rotary frequencies of every scaling that depends on nothing but the position, and of longrope with its one switch.

As in transformers (`modeling_rope_utils`), which the tests hold it against. *dynamic* scaling, which depends on the
length of the prompt, is left to the generic runner. No torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacli.models.runners.fused.config import FusedConfig
from lacli.models.runners.rotary import frequencies, powers_of

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rope:
    """One rotation: the angle of pair i at a position is `position * inverse[i]`."""

    inverse: Floats
    """[pairs]; heads wider than 2 * pairs keep their other elements as they are."""
    scale: float = 1.0
    """Factor of cosines and sines."""
    beyond: Floats | None = None
    """The frequencies of sequences longer than `switch`, from their first position on (longrope)."""
    switch: int = 0


def read_rope(rope: Mapping[str, Any], config: Mapping[str, Any], sizes: FusedConfig) -> Rope | None:
    """From rope parameters and config.json; None for a type that is not known here.

    Raises ValueError, TypeError or KeyError where a number is missing or is none.
    """
    kind = rope.get("rope_type", rope.get("type", "default"))
    share = rope.get("partial_rotary_factor", config.get("partial_rotary_factor")) or 1.0
    width = int(sizes.head_dim * share)
    if width % 2 or any(isinstance(value, dict) for value in rope.values()):
        return None
    if kind in ("default", "linear", "llama3"):
        return Rope(frequencies({**rope, "rope_type": kind}, width))
    if kind == "yarn":
        return _yarn(rope, config, width)
    if kind in ("longrope", "su"):
        return _longrope(rope, config, width)
    return None


def _original(rope: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    found = rope.get("original_max_position_embeddings") or config.get("original_max_position_embeddings")
    return int(found or config["max_position_embeddings"])


def _factor(rope: Mapping[str, Any], config: Mapping[str, Any]) -> float:
    """How much longer the context is than in training."""
    given = rope.get("factor")
    return float(given) if given is not None else config["max_position_embeddings"] / _original(rope, config)


def _longrope(rope: Mapping[str, Any], config: Mapping[str, Any], width: int) -> Rope:
    original, factor, scale = _original(rope, config), _factor(rope, config), rope.get("attention_factor")
    if scale is None:
        scale = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
    powers = powers_of(rope["rope_theta"], width)
    near, far = (np.float32(1.0) / (np.asarray(rope[key], np.float32) * powers) for key in _LONGROPE)
    return Rope(near, float(scale), far, original)


_LONGROPE = ("short_factor", "long_factor")


def _yarn(rope: Mapping[str, Any], config: Mapping[str, Any], width: int) -> Rope:
    """YaRN (arXiv 2309.00071): slow pairs are interpolated, fast ones left alone, those between blended."""
    original, factor = _original(rope, config), _factor(rope, config)

    def magnitude(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

    scale, above, below = rope.get("attention_factor"), rope.get("mscale"), rope.get("mscale_all_dim")
    if scale is None:
        scale = magnitude(above) / magnitude(below) if above and below else magnitude(1.0)
    theta = float(rope["rope_theta"])

    def pair_of(turns: float) -> float:
        """The pair that turns so often within the original context."""
        return width * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = pair_of(rope.get("beta_fast") or 32), pair_of(rope.get("beta_slow") or 1)
    if rope.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    pairs = np.arange(width // 2, dtype=np.float32)
    kept = 1 - np.clip((pairs - np.float32(low)) / np.float32(high - low), 0, 1)
    powers = powers_of(theta, width)
    inverse = (1 / (np.float32(factor) * powers)) * (1 - kept) + (1 / powers) * kept
    return Rope(inverse.astype(np.float32), float(scale))
