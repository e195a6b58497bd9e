"""How long a context a model was made for, read from its config.json. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def most_positions(config: Mapping[str, Any]) -> int | None:
    """Most positions of a Hugging Face config, scaled rotary embeddings included; None where it names no limit."""
    keys = ("max_position_embeddings", "n_positions", "max_seq_len")
    size = next((config[key] for key in keys if config.get(key)), None)
    if not isinstance(size, int) or size < 1:
        return None
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind, factor = rope.get("rope_type", rope.get("type")), rope.get("factor")
    if not isinstance(factor, int | float) or not factor > 0:
        return size
    if kind == "dynamic":
        return max(size, int(size * factor))
    if kind == "yarn":
        return max(size, int((rope.get("original_max_position_embeddings") or size) * factor))
    return size
