"""Loads weights into a `NativeModel`: packed and plain ones are used in place, others are packed on loading."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lacli.kernels.library import Library
from lacli.kernels.structs import Layer, Matrix, Model, Sizes, in_place
from lacli.models.base import Quant
from lacli.models.runners.fused.config import FusedConfig
from lacli.models.runners.native.runner import NativeModel, NativeRunner
from lacli.models.runners.packed import packed_matrix
from lacli.models.runners.tensors import Tensors


def load_native(library: Library, tensors: Tensors, config: FusedConfig, quant: Quant) -> NativeRunner:
    """quant: int4, int8 or none. Raises ModelUnavailable, or ValueError where weights do not fit the config."""
    embedding = _matrix(tensors, config, "model.embed_tokens", quant)
    head = embedding if tensors.head == "model.embed_tokens" else _matrix(tensors, config, tensors.head, quant)
    layers = [_layer(tensors, config, index, quant) for index in range(config.layers)]
    config.refuse_more(tensors)
    model = Model(sizes_of(config), layers, embedding, head, tensors.floats("model.norm.weight"))
    return NativeRunner(NativeModel(library, config, model, "f32" if quant == "none" else "f16"))


def sizes_of(config: FusedConfig) -> Sizes:
    """What the library is told of a model."""
    return Sizes(
        heads=config.heads,
        kv_heads=config.kv_heads,
        head_dim=config.head_dim,
        hidden=config.hidden,
        intermediate=config.intermediate,
        vocab=config.vocab_size,
        norm_epsilon=config.norm_eps,
    )


def _layer(tensors: Tensors, config: FusedConfig, index: int, quant: Quant) -> Layer:
    prefix = f"model.layers.{index}"

    def matrix(name: str) -> Matrix:
        return _matrix(tensors, config, f"{prefix}.{name}", quant)

    def norm(name: str) -> NDArray[np.float32]:
        return tensors.floats(f"{prefix}.{name}.weight")

    return Layer(
        input_norm=norm("input_layernorm"),
        post_norm=norm("post_attention_layernorm"),
        query=matrix("self_attn.q_proj"),
        key=matrix("self_attn.k_proj"),
        value=matrix("self_attn.v_proj"),
        output=matrix("self_attn.o_proj"),
        gate=matrix("mlp.gate_proj"),
        up=matrix("mlp.up_proj"),
        down=matrix("mlp.down_proj"),
        query_norm=norm("self_attn.q_norm") if config.head_norms else None,
        key_norm=norm("self_attn.k_norm") if config.head_norms else None,
        window=config.windows[index],
    )


def _matrix(tensors: Tensors, config: FusedConfig, name: str, quant: Quant) -> Matrix:
    rows, columns = config.shape_of(name)
    bias = tensors.floats(f"{name}.bias") if f"{name}.bias" in tensors else None
    if tensors.is_packed(name):
        kind, data = tensors.packed(name, rows, columns)
        return Matrix(kind, in_place(data), rows, columns, bias)
    dtype, weight = tensors.array(f"{name}.weight")
    config.check_shape(name, weight.shape)
    if quant == "none" and dtype == "BF16":
        return Matrix("bf16", weight, rows, columns, bias)
    floats = tensors.floats(f"{name}.weight")
    if quant == "none":
        return Matrix("f32", floats, rows, columns, bias)
    layer = name.startswith("model.layers.")
    bits: Literal[4, 8] = 4 if quant == "int4" and layer else 8  # embeddings and head suffer most from 4 bits
    return packed_matrix(floats, bits, bias)
