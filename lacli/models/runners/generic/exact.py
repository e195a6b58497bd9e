"""Makes the rows of a stock model independent of each other on a CPU, down to the last bit.

Linears round a row differently with the number of rows; vectorised functions treat the last few elements of a buffer
differently, and which those are depends on the number of rows. Attention is `attention`'s. Reached through
modules and hooks only, so what a model computes between its modules stays as it is.
"""

from __future__ import annotations

import inspect
from typing import Any, Literal

import numpy as np
import torch
import transformers.activations
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from lacli.kernels.library import library
from lacli.kernels.structs import Matrix, in_place
from lacli.models.runners.generic import bnb
from lacli.models.runners.generic.linear import make_products_exact, multiplies_by_itself
from lacli.models.runners.packed import packed_matrix
from lacli.models.runners.quant import (
    FloatLinear,
    Int8Linear,
    PackedLinear,
    QuantLinear,
    int8_of,
    quantise_rows,
    self_test,
)
from lacli.models.runners.tensors import Tensors

VECTOR = 32
"""Elements a vectorised loop takes at a time (two AVX-512 registers of float32); the rest goes another way."""


class StockInt8Linear(Int8Linear):
    """`Int8Linear` inside a stock model, some of which cast their input to the dtype of the weight."""

    def forward(self, x: Tensor) -> Tensor:
        """See `QuantLinear`; raises where the model has thrown the fractions away."""
        if not x.is_floating_point():
            raise RuntimeError("this model casts activations to the dtype of its weights")
        return super().forward(x)


def make_row_exact(model: PreTrainedModel, bits: Literal[4, 8] | None, *, uses_bnb: bool) -> None:
    """Replace every linear whose rounding of a row depends on the others, test one of each kind, widen activations.

    Linears that are not quantised yet are to `bits`, or stay float where that is None; a head never has less than 8.
    """
    head = model.get_output_embeddings()
    tested: set[tuple[type[nn.Module], int]] = set()
    for name, module in list(model.named_modules()):
        if _is_activation(module):
            module.register_forward_pre_hook(_widen)
            module.register_forward_hook(_narrow)
        made = module if isinstance(module, QuantLinear) else None
        if type(module) is nn.Linear or isinstance(module, Conv1D):
            weight = module.weight.data if type(module) is nn.Linear else module.weight.data.T
            bias = None if module.bias is None else module.bias.data.to(torch.float32)
            if bits is None:
                made = FloatLinear(weight.to(torch.float32), bias)
            else:
                made = _quantised(weight.to(torch.float32), 8 if module is head else bits, bias)
        elif uses_bnb:
            made = bnb.exact_linear(module)
        if made is None:
            continue
        if made is not module:
            model.set_submodule(name, made)
        if (type(made), made.in_features) not in tested:
            tested.add((type(made), made.in_features))
            self_test(made)
    own = [module for module in model.modules() if multiplies_by_itself(module)]
    for module in own:
        make_products_exact(module)
    if any(part.dim() == 3 for module in own for part in module.parameters(recurse=False)):
        # The joined kernels for experts round by group; one expert after the other adds up in a fixed order.
        model.set_experts_implementation("eager")


def packed_linear(tensors: Tensors, stem: str, rows: int, columns: int, bias: Tensor | None) -> QuantLinear:
    """The linear of a packed file's matrix: in place, or rounded to what PyTorch's kernel takes."""
    kernels = library()
    if kernels is not None:
        kind, data = tensors.packed(stem, rows, columns)
        return PackedLinear(kernels, Matrix(kind, in_place(data), rows, columns, _array(bias)))
    weight, scale = int8_of(tensors, stem, rows, columns)
    return StockInt8Linear(weight, scale, bias, columns)


def _quantised(weight: Tensor, bits: Literal[4, 8], bias: Tensor | None) -> QuantLinear:
    kernels = library()
    if kernels is not None:
        return PackedLinear(kernels, packed_matrix(weight.contiguous().numpy(), bits, _array(bias)))
    return StockInt8Linear(*quantise_rows(weight), bias, weight.shape[1])


def _array(bias: Tensor | None) -> NDArray[np.float32] | None:
    return None if bias is None else bias.detach().contiguous().numpy()


def _is_activation(module: nn.Module) -> bool:
    own = type(module).__module__ == transformers.activations.__name__
    return own or isinstance(module, (nn.SiLU, nn.GELU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Mish))


def _widen(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Activations in float64: the two ways of computing them agree once rounded to float32."""
    return tuple(value.to(torch.float64) if isinstance(value, Tensor) else value for value in args)


def _narrow(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
    return output.to(torch.float32)


def rotary_in_whole_vectors(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
    """Forward hook of a rotary embedding: no sine or cosine is left over for the scalar loop."""
    tensors = [output] if isinstance(output, Tensor) else list(output)
    rows = tensors[0].shape[1]
    if tensors[0].device.type != "cpu" or all(tensor.shape[-1] % VECTOR == 0 for tensor in tensors):
        return output
    call = inspect.signature(module.forward).bind(*args, **kwargs)
    positions: Tensor = call.arguments["position_ids"]
    # Some families give a row several positions: [3, batch, rows].
    padding = positions[..., -1:].expand(*positions.shape[:-1], -rows % VECTOR)
    padded = module.forward(**{**call.arguments, "position_ids": torch.cat([positions, padding], dim=-1)})
    if isinstance(padded, Tensor):
        return padded[:, :rows]
    return tuple(tensor[:, :rows] for tensor in padded)
