"""Quantised linears behind one small interface: `QuantLinear`. What lives here: formats and their run-time kernels.

Every linear here is row-exact on a CPU: the bits of a row of the result do not depend on how many other rows are in
the call (research/kernels.md §4.3). The engine's promise that lookahead text equals plain text rests on that, so
`self_test` checks it on the running machine when a model is loaded.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lacli.errors import LacliError
from lacli.kernels.library import Library
from lacli.kernels.structs import Matrix
from lacli.models.runners.tensors import Tensors

_K_MULTIPLE = 32  # `_weight_int8pack_mm` reads past the row for some other K and crashes
_ROWS_AT_ONCE = 4096


def quantise_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Symmetric int8 with one scale per output row.

    weight: [N, K] float. Returns int8 [N, K padded with zeros to a multiple of 32] and bfloat16 scales [N].
    The scale is rounded to bfloat16 *before* the division, so the weights absorb its rounding error.
    """
    rows = weight.to(torch.float32)
    scale = (rows.abs().amax(dim=1) / 127).to(torch.bfloat16)
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    quantised = (rows / scale.to(torch.float32)[:, None]).round_().clamp_(-127, 127).to(torch.int8)
    padding = -rows.shape[1] % _K_MULTIPLE
    return nn.functional.pad(quantised, (0, padding)).contiguous(), scale


def int8_of(tensors: Tensors, stem: str, rows: int, columns: int) -> tuple[Tensor, Tensor]:
    """A packed matrix as `quantise_rows` gives it; only a few rows are floats at a time."""
    parts = [quantise_rows(torch.from_numpy(part)) for part in tensors.unpacked(stem, rows, columns)]
    weight, scale = (torch.cat(each) for each in zip(*parts, strict=True))
    return weight, scale


class QuantLinear(nn.Module):
    """y = x W^T + b for x: [..., K]; the result has the dtype of x. Row-exact on a CPU."""

    in_features: int
    out_features: int

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., in_features] -> [..., out_features]"""
        raise NotImplementedError


class Int8Linear(QuantLinear):
    """int8 weights per output row, bfloat16 activations, through `torch._weight_int8pack_mm`."""

    weight: Tensor
    scale: Tensor
    bias: Tensor | None

    def __init__(
        self, weight: Tensor, scale: Tensor, bias: Tensor | None = None, in_features: int | None = None
    ) -> None:
        super().__init__()
        self.in_features = weight.shape[1] if in_features is None else in_features
        self.out_features = weight.shape[0]
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", bias)
        self._padding = weight.shape[1] - self.in_features

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, self.in_features).to(torch.bfloat16)
        if self._padding:
            rows = nn.functional.pad(rows, (0, self._padding))
        result = torch._weight_int8pack_mm(rows, self.weight, self.scale).to(x.dtype)
        if self.bias is not None:
            result = result + self.bias
        return result.reshape(*x.shape[:-1], self.out_features)


class PackedLinear(QuantLinear):
    """Blocks of 32 in 4 or 8 bits and activations in int8 with a scale per block, through our C kernels."""

    def __init__(self, library: Library, matrix: Matrix) -> None:
        super().__init__()
        self.in_features, self.out_features = matrix.columns, matrix.rows
        self._library, self._matrix = library, matrix

    def forward(self, x: Tensor) -> Tensor:
        if not x.is_floating_point():
            raise RuntimeError("this model casts activations to the dtype of its weights")
        rows = x.detach().reshape(-1, self.in_features).to(torch.float32).contiguous()
        result = torch.from_numpy(self._library.matmul(self._matrix, rows.numpy()))
        return result.to(x.dtype).reshape(*x.shape[:-1], self.out_features)


class FloatLinear(QuantLinear):
    """float32 weights packed once for oneDNN.

    Plain `F.linear` rounds a row differently with the number of rows. The packed kernel does so only for a single
    row of some shapes, so a single row is run as two.
    """

    bias: Tensor | None

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.to(torch.float32).contiguous(), 16)
        self.register_buffer("bias", bias)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, self.in_features)
        single = rows.shape[0] == 1
        if single:
            rows = rows.expand(2, -1)
        result = torch.ops.mkldnn._linear_pointwise(rows.contiguous(), self._packed, self.bias, "none", [], "")
        if single:
            result = result[:1]
        return result.reshape(*x.shape[:-1], self.out_features)


def self_test(linear: QuantLinear) -> None:
    """Check on this machine that the kernel behind `linear` is right in size and exact by row.

    Raises LacliError: the kernels are private operators of PyTorch and a release may change them.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(17, linear.in_features, generator=generator)
    together = linear(x)
    if together.shape != (17, linear.out_features) or not bool(torch.isfinite(together).all()):
        raise LacliError(
            f"the {type(linear).__name__} kernel of PyTorch {torch.__version__} gives wrong results here",
            "use --quant none, or another PyTorch release",
        )
    for rows in (1, 2, 5, 16):
        if not torch.equal(linear(x[:rows]), together[:rows]):
            raise LacliError(
                f"the {type(linear).__name__} kernel of PyTorch {torch.__version__} is not exact by row here",
                "use --no-lookahead, or another --quant",
            )
