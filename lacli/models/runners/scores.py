"""`base.Scores` of logits that torch computed: the best tokens of each row, ties by id.

The C step computes its own; `base.Scores` says what both guarantee.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lacli.models.base import TOP, Scores

_LOOKED_AT = 4 * TOP  # topk orders ties as it likes; bfloat16 has many among the best, hardly ever so many


def scores_of(logits: Tensor) -> Scores:
    """logits: [rows, vocab], on any device; waits for it."""
    best = logits.topk(min(_LOOKED_AT, logits.shape[1]), dim=1)
    return _ordered(logits, best.values.cpu().numpy(), best.indices.to(torch.int32).cpu().numpy())


def looked_at(logits: Tensor) -> Tensor:
    """What `scores_from` needs of float32 logits [rows, vocab] in one tensor, int32 [2, rows, looked at]: the bits of
    the best ones and their ids. Waits for nothing."""
    best = logits.topk(min(_LOOKED_AT, logits.shape[1]), dim=1)
    return torch.stack([best.values.view(torch.int32), best.indices.to(torch.int32)])


def scores_from(logits: Tensor, best: Tensor) -> Scores:
    """`scores_of` in one small copy. best: `looked_at(logits)`."""
    bits, ids = best.cpu().numpy()
    return _ordered(logits, bits.view(np.float32), ids)


def _ordered(logits: Tensor, values: NDArray[np.floating[Any]], ids: NDArray[np.int32]) -> Scores:
    kept = min(TOP, values.shape[1])
    order = np.lexsort((ids, -values))[:, :kept]
    top_ids, top = np.take_along_axis(ids, order, axis=1), np.take_along_axis(values, order, axis=1)
    # A tie with the last kept one may go on beyond what was looked at; NaN is the greatest to torch, not to numpy.
    unsure = np.isnan(values[:, 0])
    if values.shape[1] < logits.shape[1]:
        unsure |= top[:, -1] == values[:, -1]
    for row in np.flatnonzero(unsure).tolist():
        first = torch.sort(logits[row], descending=True, stable=True)
        top_ids[row], top[row] = first.indices[:kept].cpu().numpy(), first.values[:kept].cpu().numpy()
    return Scores(logits, top_ids, top.astype(np.float32))
