"""Loads weights into a `FusedRunner`: PyTorch's kernels, for when the C library is missing."""

from __future__ import annotations

import torch
from torch import Tensor

from lacli.models.base import Quant
from lacli.models.runners.fused.config import FusedConfig
from lacli.models.runners.fused.runner import FusedLayer, FusedRunner
from lacli.models.runners.quant import FloatLinear, Int8Linear, QuantLinear, int8_of, quantise_rows, self_test
from lacli.models.runners.tensors import Tensors


def load_fused(tensors: Tensors, config: FusedConfig, quant: Quant) -> FusedRunner:
    """quant: int4 and int8 run as int8 with a scale per row, from packed weights or floats; none as float32."""
    tested: set[tuple[type[QuantLinear], int]] = set()

    def linear(*names: str) -> QuantLinear:
        """The linears of these names side by side as one."""
        bias = None
        if f"{names[0]}.bias" in tensors:
            bias = torch.cat([torch.from_numpy(tensors.floats(f"{name}.bias").copy()) for name in names])
        made: QuantLinear
        if quant == "none":
            made = FloatLinear(torch.cat([_weight(tensors, config, name) for name in names]), bias)
        else:
            parts = [_int8(tensors, config, name) for name in names]
            weight, scale = (torch.cat(each) for each in zip(*parts, strict=True))
            made = Int8Linear(weight, scale, bias, config.shape_of(names[0])[1])
        if (type(made), made.in_features) not in tested:
            tested.add((type(made), made.in_features))
            self_test(made)
        return made

    def norm(name: str) -> Tensor:
        return torch.from_numpy(tensors.floats(f"{name}.weight").copy())

    layers = []
    for index in range(config.layers):
        prefix = f"model.layers.{index}"
        attention, mlp = f"{prefix}.self_attn", f"{prefix}.mlp"
        layers.append(
            FusedLayer(
                input_norm=norm(f"{prefix}.input_layernorm"),
                qkv=linear(f"{attention}.q_proj", f"{attention}.k_proj", f"{attention}.v_proj"),
                query_norm=norm(f"{attention}.q_norm") if config.head_norms else None,
                key_norm=norm(f"{attention}.k_norm") if config.head_norms else None,
                output=linear(f"{attention}.o_proj"),
                post_norm=norm(f"{prefix}.post_attention_layernorm"),
                gate_up=linear(f"{mlp}.gate_proj", f"{mlp}.up_proj"),
                down=linear(f"{mlp}.down_proj"),
            )
        )
    config.refuse_more(tensors)
    embedding = _embedding(tensors, config)
    return FusedRunner(config, embedding, layers, norm("model.norm"), linear(tensors.head))


def _weight(tensors: Tensors, config: FusedConfig, name: str) -> Tensor:
    """A plain weight in its own dtype."""
    config.check_shape(name, tensors.array(f"{name}.weight")[1].shape)
    return tensors.torch(f"{name}.weight")


def _int8(tensors: Tensors, config: FusedConfig, name: str) -> tuple[Tensor, Tensor]:
    """The weight as `quantise_rows` gives it."""
    if tensors.is_packed(name):
        return int8_of(tensors, name, *config.shape_of(name))
    return quantise_rows(_weight(tensors, config, name))


def _embedding(tensors: Tensors, config: FusedConfig) -> Tensor:
    name = "model.embed_tokens"
    if not tensors.is_packed(name):
        return _weight(tensors, config, name)
    return torch.cat(
        [torch.from_numpy(part).to(torch.bfloat16) for part in tensors.unpacked(name, *config.shape_of(name))]
    )
