"""Models with random weights: as large as real ones, made on the device in seconds, and tiny ones of every family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lacli.bench.gpu_check.plan import Shape
from lacli.models.base import Quant
from lacli.models.runners.fused.device.config import DeviceConfig
from lacli.models.runners.fused.device.linears import Dense, Int8, Linear, Nf4, Tuner, head_of
from lacli.models.runners.fused.device.step import StepLayer, StepModel, StepWeights


def config_of(shape: Shape, context: int) -> DeviceConfig:
    """The configuration of a Qwen 2.5 of this shape."""
    read = DeviceConfig.read(
        {
            "model_type": "qwen2",
            "hidden_size": shape.hidden,
            "intermediate_size": shape.intermediate,
            "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.kv_heads,
            "head_dim": shape.head_dim,
            "vocab_size": shape.vocab,
            "max_position_embeddings": context,
            "rms_norm_eps": 1e-6,
            "rope_theta": 1e6,
        }
    )
    assert read is not None
    return read


def model_of(
    shape: Shape, quant: Quant, context: int, device: torch.device, dtype: torch.dtype
) -> tuple[StepModel, Tuner, int]:
    """The model, the choices among its kernels, and the bytes of weights that a step reads.

    Quantised once and copied for each layer: each has bytes of its own, so that no cache serves two.
    """
    tuner, generator = Tuner(device, dtype), torch.Generator(device).manual_seed(1)
    config, read = config_of(shape, context), 0

    def weight(rows: int, columns: int) -> Tensor:
        return torch.randn(rows, columns, device=device, dtype=dtype, generator=generator).mul_(columns**-0.5)

    def copies(rows: int, columns: int) -> list[Linear]:
        nonlocal read
        first, each = _quantised(weight(rows, columns), quant)
        read += each * shape.layers
        return [_linear(first, index > 0, rows, columns, tuner) for index in range(shape.layers)]

    heads = (shape.heads + 2 * shape.kv_heads) * shape.head_dim
    parts = [
        copies(heads, shape.hidden),
        copies(shape.hidden, shape.heads * shape.head_dim),
        copies(2 * shape.intermediate, shape.hidden),
        copies(shape.hidden, shape.intermediate),
    ]
    norm = torch.ones(shape.hidden, device=device)
    layers = [
        StepLayer(norm, qkv, output, norm, gate_up, down) for qkv, output, gate_up, down in zip(*parts, strict=True)
    ]
    embedding = weight(shape.vocab, shape.hidden)
    weights = StepWeights(embedding, layers, norm, head_of(embedding))
    return StepModel(config, weights), tuner, read + embedding.nbytes


def _quantised(weight: Tensor, quant: Quant) -> tuple[Dense | Nf4 | Int8, int]:
    """The weight in its format, and its bytes."""
    if quant == "nf4":
        nf4 = Nf4.of(weight, None)
        return nf4, nf4.packed.nbytes + nf4.state.absmax.nbytes
    if quant == "bnb-int8":
        int8 = Int8.of(weight, None)
        return int8, int8.packed.nbytes + int8.scales.nbytes
    return Dense(weight), weight.nbytes


def _linear(made: Dense | Nf4 | Int8, copied: bool, rows: int, columns: int, tuner: Tuner) -> Linear:
    if isinstance(made, Dense):
        return Dense(made.weight.clone()) if copied else made
    packed = made.packed.clone() if copied else made.packed
    own = Nf4(packed, made.state, None) if isinstance(made, Nf4) else Int8(packed, made.scales, None)
    return tuner.chosen(own.ways(), rows, columns)


_FAMILY: dict[str, dict[str, Any]] = {
    "mistral": {"sliding_window": 24},
    "gemma2": {"sliding_window": 24, "query_pre_attn_scalar": 64},
    "gemma3_text": {
        "sliding_window": 24,
        "query_pre_attn_scalar": 64,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "phi3": {"pad_token_id": 0},
}


def tiny_folder(family: str, folder: Path) -> tuple[Any, Path]:
    """A tiny random model of transformers in float64, and the file its float32 weights were written to."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    sizes = {
        "vocab_size": 256,
        "hidden_size": 256,
        "intermediate_size": 384,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "max_position_embeddings": 1024,
        "bos_token_id": 1,
        "eos_token_id": None,
        **_FAMILY.get(family, {}),
    }
    torch.manual_seed(5)
    config = transformers.AutoConfig.for_model(family, **sizes)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    for name, parameter in model.named_parameters():
        if "norm" not in name:
            parameter.data.mul_(3)
    model.save_pretrained(folder)
    return model.to(torch.float64), folder / "model.safetensors"


def float64_runner(model: Any) -> Any:
    """The generic runner over it, on the CPU."""
    from lacli.models.runners.generic.attention import EXACT
    from lacli.models.runners.generic.runner import GenericRunner

    model.set_attn_implementation(EXACT)
    return GenericRunner(model)
