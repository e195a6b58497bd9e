"""The KV cache of the fused runner: two buffers, a Python int and three verbs.

Kept in float64: attention reads it in float64 so that a row's bits do not depend on the rows beside it
(research/kernels.md §4.5), and converting float32 at every step costs more than reading twice the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_FIRST_CAPACITY = 512


class BranchCache:
    """K and V of one sequence for all layers, plus the uncommitted rows of the last forward behind them."""

    def __init__(self, layers: int, kv_heads: int, head_dim: int, context_size: int) -> None:
        self._shape = (layers, kv_heads, head_dim)
        self._context_size = context_size
        self.length = 0
        """Committed positions; only `keep`, `extend` and `truncate` move it."""
        self._keys = self._empty(0)
        self._values = self._empty(0)

    def _empty(self, capacity: int) -> Tensor:
        layers, kv_heads, head_dim = self._shape
        return torch.empty(layers, kv_heads, capacity, head_dim, dtype=torch.float64)

    @property
    def nbytes(self) -> int:
        """Bytes of both buffers."""
        return 2 * self._keys.numel() * self._keys.element_size()

    def reserve(self, rows: int) -> None:
        """Make room for `rows` more positions, growing by doubling and copying what is committed."""
        needed = self.length + rows
        capacity = self._keys.shape[2]
        if needed <= capacity:
            return
        # Guessed rows may stand behind the last position of the context, so the bound is soft.
        capacity = max(needed, min(max(2 * capacity, _FIRST_CAPACITY), self._context_size + 64))
        keys, values = self._empty(capacity), self._empty(capacity)
        keys[:, :, : self.length] = self._keys[:, :, : self.length]
        values[:, :, : self.length] = self._values[:, :, : self.length]
        self._keys, self._values = keys, values

    def write(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Put the rows of this forward behind the committed ones; return all keys and values of the layer.

        keys, values: [kv_heads, rows, head_dim] -> [kv_heads, length + rows, head_dim], float64 views.
        """
        end = self.length + keys.shape[1]
        self._keys[layer, :, self.length : end] = keys
        self._values[layer, :, self.length : end] = values
        return self._keys[layer, :, :end], self._values[layer, :, :end]

    def extend(self, rows: int) -> None:
        """Commit the first `rows` rows of the last forward as they lie."""
        self.length += rows

    def keep(self, path: Sequence[int]) -> None:
        """Commit these rows of the last forward, in this order, and forget the others."""
        count = len(path)
        if list(path) != list(range(count)):
            source = torch.tensor(path) + self.length
            span = slice(self.length, self.length + count)
            self._keys[:, :, span] = self._keys[:, :, source]
            self._values[:, :, span] = self._values[:, :, source]
        self.length += count

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on."""
        self.length = min(self.length, length)
