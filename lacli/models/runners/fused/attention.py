"""Attention over the past and a tree of guessed rows, exact by row. The tree mask by both runners.

Scores, softmax and weighted sum are computed in float64 and rounded once to float32. A float32 softmax-attention
changes the bits of every row with the number of rows and with the slots they sit in; rounding float64 hides that
(research/kernels.md §4.5: 0 of 384 chain rows and 0 of 96 tree rows differ).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def ancestor_mask(parents: Sequence[int]) -> np.ndarray:
    """bool [rows, rows]: row i may see row j of the same forward (itself and its ancestors)."""
    rows = len(parents)
    mask = np.zeros((rows, rows), dtype=bool)
    for row, parent in enumerate(parents):
        if parent >= 0:
            mask[row] = mask[parent]
        mask[row, row] = True
    return mask


def tree_bias(parents: Sequence[int]) -> Tensor:
    """float64 [rows, rows]: 0 where `ancestor_mask` holds, -inf elsewhere."""
    mask = ancestor_mask(parents)
    return torch.from_numpy(np.where(mask, 0.0, -np.inf))


def tree_attention(queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
    """Grouped-query attention of all rows over the whole past and their own ancestors.

    queries: [heads, rows, head_dim] float32, already scaled; keys, values: [kv_heads, past + rows, head_dim] float64;
    bias: [rows, rows] float64 from `tree_bias`. Returns [rows, heads * head_dim] float32.
    """
    heads, rows, head_dim = queries.shape
    kv_heads = keys.shape[0]
    folded = queries.to(torch.float64).reshape(kv_heads, heads // kv_heads * rows, head_dim)
    scores = torch.matmul(folded, keys.transpose(1, 2))
    past = keys.shape[1] - rows
    scores.view(kv_heads, heads // kv_heads, rows, past + rows)[..., past:] += bias
    mixed = torch.matmul(torch.softmax(scores, dim=-1), values)
    return mixed.to(torch.float32).view(heads, rows, head_dim).transpose(0, 1).reshape(rows, heads * head_dim)
