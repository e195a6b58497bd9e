"""The weights of a GGUF file under Hugging Face's names, decoded when asked for.

Lives here: undoing what llama.cpp's converter does to a tensor. Called by prepare.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lacli.models.gguf_config import Planned, plan
from lacli.models.gguf_read import GgufFile, load_tensor
from lacli.models.prepare_weights import Weight

if TYPE_CHECKING:
    from torch import Tensor


def gguf_weights(file: GgufFile, config: Mapping[str, Any]) -> list[Weight]:
    """All tensors of a llama, qwen2 or qwen3 file."""
    return [Weight(item.name, item.shape, item.linear, _loader(file, item)) for item in plan(file, config)]


def _loader(file: GgufFile, item: Planned) -> Callable[[], Tensor]:
    def load() -> Tensor:
        import torch

        tensor = torch.from_numpy(load_tensor(file.tensors[item.source]))
        return in_order(tensor, item.permuted_heads) if item.permuted_heads else tensor

    return load


def in_order(tensor: Tensor, heads: int) -> Tensor:
    """Rows of interleaved rotary pairs (llama.cpp) back into two halves per head (Hugging Face).

    tensor: [heads * head_dim, ...]
    """
    rest = tensor.shape[1:]
    half = tensor.shape[0] // heads // 2
    return tensor.reshape(heads, half, 2, *rest).transpose(1, 2).reshape(-1, *rest)
