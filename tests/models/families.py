"""Tiny random models of every family the generic runner is tried on, each beside a runner over a copy of it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel

from lacli.models.runners.generic.attention import EXACT
from lacli.models.runners.generic.runner import GenericRunner

VOCAB = 128
SWITCH = 24
"""Longest sequence before the rotary frequencies of the length-dependent models change."""


def _sizes(**changes: Any) -> dict[str, Any]:
    sizes: dict[str, Any] = {
        "vocab_size": VOCAB,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "bos_token_id": 1,
        "eos_token_id": None,
        "pad_token_id": 0,
    }
    sizes.update(changes)
    return {name: value for name, value in sizes.items() if value is not ...}


def _longrope(**extra: Any) -> dict[str, Any]:
    return {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1.0, 1.1, 1.2, 1.3],
        "long_factor": [2.0, 3.0, 4.0, 8.0],
        "original_max_position_embeddings": SWITCH,
        **extra,
    }


CONFIGS: dict[str, Callable[[], PreTrainedConfig]] = {
    "llama": lambda: transformers.LlamaConfig(**_sizes()),
    "qwen2": lambda: transformers.Qwen2Config(**_sizes()),
    "qwen2-mixed-windows": lambda: transformers.Qwen2Config(
        **_sizes(), use_sliding_window=True, sliding_window=6, max_window_layers=1
    ),
    "qwen3": lambda: transformers.Qwen3Config(**_sizes(), head_dim=16),
    "mistral": lambda: transformers.MistralConfig(**_sizes(), sliding_window=6, head_dim=8),
    "gemma2": lambda: transformers.Gemma2Config(**_sizes(), head_dim=8, sliding_window=6, query_pre_attn_scalar=8),
    "gemma3": lambda: transformers.Gemma3TextConfig(
        **_sizes(), head_dim=8, sliding_window=6, layer_types=["sliding_attention", "full_attention"]
    ),
    "phi3": lambda: transformers.Phi3Config(**_sizes()),
    "starcoder2": lambda: transformers.Starcoder2Config(**_sizes(), sliding_window=6),
    "gpt-neox": lambda: transformers.GPTNeoXConfig(**_sizes(num_key_value_heads=...)),
    "llama-yarn": lambda: transformers.LlamaConfig(
        **_sizes(max_position_embeddings=4 * SWITCH),
        rope_parameters={
            "rope_type": "yarn",
            "factor": 4.0,
            "rope_theta": 10000.0,
            "original_max_position_embeddings": SWITCH,
        },
    ),
    "llama-dynamic": lambda: transformers.LlamaConfig(
        **_sizes(max_position_embeddings=SWITCH),
        rope_parameters={"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0},
    ),
    "phi3-longrope": lambda: transformers.Phi3Config(
        **_sizes(max_position_embeddings=4 * SWITCH),
        original_max_position_embeddings=SWITCH,
        rope_parameters=_longrope(),
    ),
    "llama-longrope": lambda: transformers.LlamaConfig(
        **_sizes(max_position_embeddings=4 * SWITCH), rope_parameters=_longrope(factor=4.0)
    ),
}
DYNAMIC = ("llama-dynamic", "phi3-longrope", "llama-longrope")
FIXED = tuple(name for name in CONFIGS if name not in DYNAMIC)


@dataclass
class Family:
    """A model as transformers has it, and the runner over a copy of it."""

    name: str
    stock: PreTrainedModel
    runner: GenericRunner


def build(config: PreTrainedConfig) -> PreTrainedModel:
    """A random model with weights large enough for its logits to depend on everything it sees."""
    torch.manual_seed(5)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float64, attn_implementation="eager").eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(6)
    return model


_made: dict[str, Family] = {}


def family(name: str) -> Family:
    if name not in _made:
        stock = build(CONFIGS[name]())
        ours = copy.deepcopy(stock)
        ours.set_attn_implementation(EXACT)
        _made[name] = Family(name, stock, GenericRunner(ours))
    return _made[name]


def prompt_of(length: int, seed: int = 0) -> list[int]:
    return random.Random(seed * 1000 + length).choices(range(2, VOCAB), k=length)
