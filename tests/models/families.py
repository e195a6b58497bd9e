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


def _scaled(kind: str, **extra: Any) -> dict[str, Any]:
    """A rotary scaling beyond the context that the model was trained with."""
    return {"rope_type": kind, "rope_theta": 10000.0, "original_max_position_embeddings": SWITCH, **extra}


_MIXED = ["sliding_attention", "full_attention"]
_EXPERTS: dict[str, Any] = {"moe_intermediate_size": 24, "num_experts": 4, "num_experts_per_tok": 2}
_MAMBA: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "state_size": 4,
    "bos_token_id": 1,
    "eos_token_id": None,
}
_LINEAR_ATTENTION: dict[str, Any] = {
    "head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
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
        **_sizes(max_position_embeddings=4 * SWITCH), rope_parameters=_scaled("yarn", factor=4.0)
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
    "codellama": lambda: transformers.LlamaConfig(
        **_sizes(num_key_value_heads=4), rope_parameters={"rope_type": "default", "rope_theta": 1e6}
    ),
    "deepseek-coder": lambda: transformers.LlamaConfig(
        **_sizes(num_key_value_heads=4),
        rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 100000.0},
    ),
    "llama3-tied": lambda: transformers.LlamaConfig(
        **_sizes(max_position_embeddings=8 * SWITCH, tie_word_embeddings=True),
        rope_parameters=_scaled("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0),
    ),
    "qwen2-tied": lambda: transformers.Qwen2Config(**_sizes(tie_word_embeddings=True)),
    "qwen2-moe": lambda: transformers.Qwen2MoeConfig(**_sizes(), **_EXPERTS, shared_expert_intermediate_size=24),
    "qwen3-moe": lambda: transformers.Qwen3MoeConfig(**_sizes(), **_EXPERTS, head_dim=16),
    "codestral": lambda: transformers.MistralConfig(**_sizes(), sliding_window=None, head_dim=8),
    "phi4-mini": lambda: transformers.Phi3Config(
        **_sizes(tie_word_embeddings=True),
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
    ),
    "granite": lambda: transformers.GraniteConfig(
        **_sizes(tie_word_embeddings=True),
        embedding_multiplier=3.0,
        attention_multiplier=0.3,
        residual_multiplier=0.5,
        logits_scaling=2.0,
    ),
    "olmo2": lambda: transformers.Olmo2Config(**_sizes()),
    "olmo3": lambda: transformers.Olmo3Config(**_sizes(), sliding_window=6, layer_types=_MIXED),
    "cohere": lambda: transformers.CohereConfig(**_sizes(), use_qk_norm=True, logit_scale=0.5),
    "cohere2": lambda: transformers.Cohere2Config(**_sizes(), sliding_window=6, layer_types=_MIXED),
    "gpt-oss": lambda: transformers.GptOssConfig(
        **_sizes(max_position_embeddings=4 * SWITCH),
        head_dim=8,
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=6,
        layer_types=_MIXED,
        rope_parameters=_scaled("yarn", factor=4.0),
    ),
}
PLAIN: dict[str, Callable[[], PreTrainedConfig]] = {
    "mamba": lambda: transformers.MambaConfig(**_MAMBA),
    "mamba2": lambda: transformers.Mamba2Config(**_MAMBA, num_heads=4, head_dim=8, n_groups=1, chunk_size=8),
    "rwkv": lambda: transformers.RwkvConfig(
        vocab_size=VOCAB,
        hidden_size=16,
        attention_hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        context_length=128,
        bos_token_id=1,
        eos_token_id=None,
    ),
    "jamba": lambda: transformers.JambaConfig(
        **_sizes(),
        attn_layer_period=2,
        attn_layer_offset=1,
        expert_layer_period=2,
        expert_layer_offset=1,
        num_experts=2,
        mamba_d_state=4,
        mamba_dt_rank=4,
    ),
    "granite-hybrid": lambda: transformers.GraniteMoeHybridConfig(
        **_sizes(),
        layer_types=["mamba", "attention"],
        mamba_n_heads=8,
        mamba_d_head=8,
        mamba_n_groups=1,
        mamba_d_state=4,
        mamba_chunk_size=8,
        num_local_experts=2,
        num_experts_per_tok=1,
        shared_intermediate_size=24,
    ),
    "qwen3-next": lambda: transformers.Qwen3NextConfig(
        **_sizes(), **_EXPERTS, **_LINEAR_ATTENTION, shared_expert_intermediate_size=24
    ),
    "qwen3.5": lambda: transformers.Qwen3_5TextConfig(**_sizes(), **_LINEAR_ATTENTION),
    "lfm2": lambda: transformers.Lfm2Config(**_sizes(), layer_types=["conv", "full_attention"]),
    "bloom": lambda: transformers.BloomConfig(
        vocab_size=VOCAB, hidden_size=32, n_layer=3, n_head=4, bos_token_id=1, eos_token_id=None
    ),
}
"""Models with a state beside keys and values, or with distances in their mask: they are decoded plainly."""
DYNAMIC = ("llama-dynamic", "phi3-longrope", "llama-longrope")
FIXED = tuple(name for name in CONFIGS if name not in DYNAMIC)


@dataclass
class Family:
    """A model as transformers has it, and the runner over a copy of it."""

    name: str
    stock: PreTrainedModel
    runner: GenericRunner


def build(config: PreTrainedConfig) -> PreTrainedModel:
    """A random model whose layers weigh so much more than its embeddings that its text depends on all that it sees."""
    torch.manual_seed(5)
    model = AutoModelForCausalLM.from_config(
        config,
        dtype=torch.float64,
        attn_implementation="eager",
        experts_implementation="eager",  # the joined kernels know no float64
    ).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(2 if "embed" in name or "head" in name else 20)
    return model


_made: dict[str, Family] = {}


def family(name: str) -> Family:
    if name not in _made:
        stock = build({**CONFIGS, **PLAIN}[name]())
        ours = copy.deepcopy(stock)
        if ours._can_set_attn_implementation():
            ours.set_attn_implementation(EXACT)
        _made[name] = Family(name, stock, GenericRunner(ours))
    return _made[name]


def prompt_of(length: int, seed: int = 0) -> list[int]:
    return random.Random(seed * 1000 + length).choices(range(2, VOCAB), k=length)
