"""Our attention functions for stock transformers models, registered through `AttentionInterface`.

`lacli_exact` computes in float64 and rounds once, so that a row's bits do not depend on the rows beside it nor on
their slots (research/kernels.md §4.5): the CPU's. `lacli_fast` folds each query group into the rows instead of
copying keys and values per query head, then uses PyTorch's fused attention: the GPU's. No masks are built here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.modeling_utils import AttentionInterface

EXACT = "lacli_exact"
FAST = "lacli_fast"


def _folded_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    scaling: float,
    softcap: float | None,
    sinks: Tensor | None,
    dtype: torch.dtype,
) -> Tensor:
    """Grouped-query attention with all its extras, computed in `dtype`.

    query: [batch, heads, rows, head_dim]; key, value: [batch, kv_heads, keys, head_dim]; bias broadcasts to
    [batch, heads, rows, keys]; sinks: [heads]. Returns [batch, heads, rows, value_dim] in the dtype of `query`.
    """
    batch, heads, rows, head_dim = query.shape
    kv_heads, keys = key.shape[1], key.shape[2]
    folded = (query.to(dtype) * scaling).reshape(batch, kv_heads, -1, head_dim)
    scores = torch.matmul(folded, key.to(dtype).transpose(2, 3)).view(batch, heads, rows, keys)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if bias is not None:
        scores = scores + bias.to(dtype)
    if sinks is not None:
        sink = sinks.to(dtype).view(1, heads, 1, 1).expand(batch, heads, rows, 1)
        weights = torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1)[..., :-1]
    else:
        weights = torch.softmax(scores, dim=-1)
    mixed = torch.matmul(weights.reshape(batch, kv_heads, -1, keys), value.to(dtype))
    return mixed.to(query.dtype).view(batch, heads, rows, -1)


def _total_bias(mask: Tensor | None, position_bias: Tensor | None, keys: int) -> Tensor | None:
    """Mask and position bias in one additive tensor; a boolean mask means True = attend."""
    if mask is not None:
        mask = mask[..., :keys]
        if mask.dtype == torch.bool:
            mask = torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, torch.finfo(torch.float32).min)
    if position_bias is None:
        return mask
    return position_bias if mask is None else position_bias + mask


def exact_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Scores, softmax and weighted sum in float64, rounded once."""
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    bias = _total_bias(attention_mask, position_bias, key.shape[2])
    mixed = _folded_attention(query, key, value, bias, scaling, softcap, s_aux, torch.float64)
    return mixed.transpose(1, 2).contiguous(), None


def fast_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """PyTorch's fused attention with query groups folded into rows; what it cannot express is done in float32."""
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    bias = _total_bias(attention_mask, position_bias, key.shape[2])
    if softcap is not None or s_aux is not None or position_bias is not None:
        mixed = _folded_attention(query, key, value, bias, scaling, softcap, s_aux, torch.float32)
    else:
        batch, heads, rows, head_dim = query.shape
        groups = heads // key.shape[1]
        if bias is not None:
            bias = bias.to(query.dtype).repeat(1, 1, groups, 1)
        folded = query.reshape(batch, key.shape[1], groups * rows, head_dim)
        mixed = nn.functional.scaled_dot_product_attention(folded, key, value, attn_mask=bias, scale=scaling)
        mixed = mixed.reshape(batch, heads, rows, -1)
    return mixed.transpose(1, 2).contiguous(), None


# With `eager_mask` a model given no mask builds a complete additive one: these functions know no causal flag.
AttentionInterface.register(EXACT, exact_attention)
AttentionInterface.register(FAST, fast_attention)
AttentionMaskInterface.register(EXACT, eager_mask)
AttentionMaskInterface.register(FAST, eager_mask)
