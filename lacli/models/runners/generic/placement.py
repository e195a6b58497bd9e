"""Where the layers of a model lie: on one device, or spread over all cards by accelerate, whose hooks carry activations
from one to the next.
"""

from __future__ import annotations

from typing import Any

import torch

_SHARE = 0.85
"""Of a card's free memory for weights; the rest is for the KV cache of its layers and for activations."""


def placement(device: str, *, spread: bool) -> dict[str, Any]:
    """Options of transformers' `from_pretrained`. spread: over all cards; main memory and disk take no layer."""
    if not spread:
        return {"device_map": {"": device}}
    cards = range(torch.cuda.device_count())
    return {
        "device_map": "auto",
        "max_memory": {card: int(_SHARE * torch.cuda.mem_get_info(card)[0]) for card in cards},
    }
