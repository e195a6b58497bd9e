"""The KV cache of the forward for devices: buffers with a fixed address until they grow, and the committed length.

The slot of a committed token is its position; the rows of a forward follow. A step reads all slots of its bucket, so
unwritten slots must be zero: a masked value that is not finite would still make a sum NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lacli.models.runners.fused.device.buckets import ROWS, bucket_of, slot_buckets


class KvCache:
    """K and V of one sequence for all layers."""

    def __init__(
        self,
        layers: int,
        kv_heads: int,
        head_dim: int,
        context_size: int,
        dtype: torch.dtype,
        device: torch.device,
        first: int = 0,
    ) -> None:
        """first: slots to make room for at once, where the context has as many."""
        self._shape = (layers, kv_heads, head_dim)
        self._options = {"dtype": dtype, "device": device}
        # Guessed rows may stand behind the last position of the context.
        self.buckets = slot_buckets(context_size + ROWS[-1])
        self._first = bucket_of(first, self.buckets)
        self.length = 0
        """Committed positions; only `keep` and `truncate` move it."""
        self.moves = 0
        """How often the buffers have moved: what was captured before is void."""
        self.keys, self.values = self._zeros(0), self._zeros(0)
        """[layers, slots, kv_heads, head_dim], the layout flash kernels read."""

    def _zeros(self, slots: int) -> Tensor:
        layers, kv_heads, head_dim = self._shape
        return torch.zeros(layers, slots, kv_heads, head_dim, **self._options)  # type: ignore[call-overload]

    @property
    def nbytes(self) -> int:
        """Bytes of both buffers."""
        return 2 * self.keys.numel() * self.keys.element_size()

    def reserve(self, rows: int) -> int:
        """Make room for `rows` more positions; returns the bucket of slots that holds them with all before them."""
        bucket = bucket_of(self.length + rows, self.buckets)
        if bucket > self.values.shape[1]:
            self.moves += 1
            for name in ("keys", "values"):  # one after the other: only one of them exists twice at a time
                buffer = getattr(self, name)
                if bucket > buffer.shape[1]:  # keys may have grown before, when there was no memory for values
                    grown = self._zeros(max(bucket, self._first))
                    grown[:, : self.length] = buffer[:, : self.length]
                    setattr(self, name, grown)
        return bucket

    def keep(self, path: Sequence[int]) -> None:
        """Commit these rows of the last forward, in this order, and forget the others."""
        count = len(path)
        if list(path) != list(range(count)):
            source = torch.tensor(path).add_(self.length).to(self.keys.device)
            for buffer in (self.keys, self.values):
                buffer[:, self.length : self.length + count] = buffer.index_select(1, source)
        self.length += count

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on."""
        self.length = min(self.length, length)

    def wipe(self) -> None:
        """Zero what is not committed, after a forward whose numbers were not finite."""
        for buffer in (self.keys, self.values):
            buffer[:, self.length :] = 0
