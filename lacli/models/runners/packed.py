"""Float weights rounded and packed as our C kernels read them, where a file does not hold them so. No torch."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lacli.kernels import packing
from lacli.kernels.structs import Matrix, aligned

_ROWS_AT_ONCE = 4096


def packed_matrix(weight: NDArray[np.float32], bits: Literal[4, 8], bias: NDArray[np.float32] | None = None) -> Matrix:
    """Round a weight [N, K] to blocks of 32 and pack it. Raises LacliError where a weight is no finite number."""
    rows, columns = weight.shape
    kind: packing.Kind = "q4m" if bits == 4 else "q8"
    data = aligned(packing.shape(kind, rows, columns), np.uint8)
    for first in range(0, rows, _ROWS_AT_ONCE):
        part = packing.pack(packing.quantise(weight[first : first + _ROWS_AT_ONCE], bits))
        data[first // packing.PANEL :][: len(part)] = part
    return Matrix(kind, data, rows, columns, bias)
