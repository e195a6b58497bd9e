"""Matrix products that are exact by row, for weights that are not packed beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_MATMULS = (torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__)
_VECTORISED = (torch.sigmoid, torch.Tensor.sigmoid)
"""Round the last elements of a buffer otherwise than the others; computed in float64, both round to the same."""


def row_exact_product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b in float32; x: [..., K], weight: [N, K].

    MKL rounds a row differently with the number of rows (a vector kernel for one, a matrix kernel for more). oneDNN
    does so only for a single row. Rows are filled up to a power of two, as it compiles a kernel for every new number.
    """
    rows = x.reshape(-1, x.shape[-1])
    count = rows.shape[0]
    if count == 0:
        return x.new_zeros(*x.shape[:-1], weight.shape[0])
    filled = max(2, 1 << (count - 1).bit_length())
    rows = nn.functional.pad(rows, (0, 0, 0, filled - count)).contiguous()
    result = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return result[:count].reshape(*x.shape[:-1], weight.shape[0])


class _ExactProducts(TorchFunctionMode):
    """While it is on, products with a matrix of parameters go through `row_exact_product`."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is nn.functional.linear and args[0].dtype == torch.float32:
            return row_exact_product(*args, **kwargs)
        if func in _MATMULS and args[0].dtype == torch.float32 and args[1].dim() == 2:
            return row_exact_product(args[0], args[1].T)
        if func in _VECTORISED and args[0].dtype == torch.float32:
            return func(args[0].to(torch.float64), *args[1:], **kwargs).to(torch.float32)
        return func(*args, **kwargs)


def make_products_exact(module: nn.Module) -> None:
    """Switch `_ExactProducts` on whenever this module runs."""
    mode = _ExactProducts()

    def enter(module: nn.Module, args: Any) -> None:
        mode.__enter__()

    def leave(module: nn.Module, args: Any, output: Any) -> None:
        mode.__exit__(None, None, None)

    module.register_forward_pre_hook(enter)
    module.register_forward_hook(leave, always_call=True)


def multiplies_by_itself(module: nn.Module) -> bool:
    """True for modules with matrices of their own that are neither embeddings nor linears of a known kind."""
    if isinstance(module, nn.Linear):
        return type(module).forward is not nn.Linear.forward and module.weight.dtype == torch.float32
    known = (nn.Embedding, nn.Conv1d, nn.Conv2d)
    return not isinstance(module, known) and any(part.dim() >= 2 for part in module.parameters(recurse=False))
