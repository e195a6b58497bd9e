"""Which keys a row may attend to, as the additive masks stock transformers models take.

A row sees its past and its ancestors. Windows and chunks go by the *position* of a token, never by its slot in the
cache: guessed siblings share positions, and slots move when rows are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lacli.models.runners.fused.attention import ancestor_mask

_FULL = "full_attention"
_SLIDING = "sliding_attention"
_CHUNKED = "chunked_attention"


@dataclass(frozen=True, slots=True)
class LayerMasks:
    """The kinds of attention layers in one model."""

    reach: dict[str, int]
    """For each kind how many positions back it sees, or how many a chunk has; 0: all."""

    @staticmethod
    def of(config: Any) -> LayerMasks | None:
        """From a model's configuration; None where it has layers of a kind we do not know."""
        window = getattr(config, "sliding_window", None) or 0
        if getattr(config, "use_sliding_window", True) is False:
            window = 0
        reach = {_FULL: 0, _SLIDING: window, _CHUNKED: getattr(config, "attention_chunk_size", None) or 0}
        kinds = getattr(config, "layer_types", None) or [_SLIDING if window else _FULL]
        if not set(kinds) <= set(reach):
            return None
        return LayerMasks({kind: reach[kind] for kind in dict.fromkeys(kinds)})

    def build(
        self, past: int, positions: Sequence[int], parents: Sequence[int], dtype: torch.dtype, device: torch.device
    ) -> Tensor | dict[str, Tensor]:
        """Masks [1, 1, rows, past + rows] for rows at these positions: one, or one for each kind of layer."""
        rows = np.asarray(positions)[:, None]
        keys = np.concatenate([np.arange(past), np.asarray(positions)])[None, :]
        visible = np.ones((len(positions), past + len(positions)), dtype=bool)
        visible[:, past:] = ancestor_mask(parents)
        masks = {}
        for kind, reach in self.reach.items():
            seen = visible
            if reach and kind == _SLIDING:
                seen = visible & (rows - keys < reach)
            elif reach and kind == _CHUNKED:
                seen = visible & (rows // reach == keys // reach)
            # Additive, since eager attention adds a boolean mask as 0 and 1 without a word.
            mask = torch.zeros(seen.shape, dtype=dtype)
            mask.masked_fill_(torch.from_numpy(~seen), torch.finfo(dtype).min)
            masks[kind] = mask[None, None].to(device)
        return masks if len(masks) > 1 else next(iter(masks.values()))
