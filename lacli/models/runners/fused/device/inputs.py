"""What a step is told, in one copy to the device: ids, depths, the tree, the rows wanted, the length of the past.

The tree is a bit mask a row: bit j of row i says that i sees row j of the same step. So up to 64 rows take half a
kilobyte, and the masks are made where they are used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from lacli.models.base import Rows


def seen_bits(parents: Sequence[int]) -> list[int]:
    """For each row the mask of itself and its ancestors."""
    bits: list[int] = []
    for row, parent in enumerate(parents):
        bits.append((bits[parent] if parent >= 0 else 0) | 1 << row)
    return bits


class StepInputs:
    """The inputs of all steps of one shape, at a fixed place on the device."""

    def __init__(self, rows: int, wanted: int, device: torch.device) -> None:
        self.rows = rows
        pinned = device.type == "cuda"
        self._host = torch.zeros(3 * rows + wanted + 1, dtype=torch.int64, pin_memory=pinned)
        self._device = torch.zeros_like(self._host, device=device)
        self._numbers = self._host.numpy()
        self._unpack = torch.arange(rows, device=device)
        self.ids, self._depths, self._bits, self.wanted, self.length = self._device.split([rows, rows, rows, wanted, 1])
        """`length` [1]: committed positions; `wanted`: rows whose logits are computed."""

    def fill(self, rows: Rows, length: int) -> None:
        """Describe a step. The rows that fill up its bucket see themselves alone, and nobody sees them."""
        count, numbers = len(rows.token_ids), self._numbers
        numbers[:] = 0
        numbers[:count] = rows.token_ids
        numbers[self.rows : self.rows + count] = rows.depths()
        alone = [1 << row for row in range(count, self.rows)]
        numbers[2 * self.rows : 3 * self.rows] = np.array([*seen_bits(rows.parents), *alone], np.uint64).view(np.int64)
        numbers[3 * self.rows : 3 * self.rows + len(rows.wanted)] = rows.wanted
        numbers[-1] = length
        self._device.copy_(self._host, non_blocking=True)

    def positions(self) -> Tensor:
        """[rows]"""
        return self._depths + self.length

    def slots(self) -> Tensor:
        """Where the K and V of each row go, [rows]."""
        return self._unpack + self.length

    def seen(self) -> Tensor:
        """bool [rows, rows]: row i sees row j."""
        return (self._bits[:, None] >> self._unpack & 1).to(torch.bool)
