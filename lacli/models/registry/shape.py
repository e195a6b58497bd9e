"""Computes a model's sizes from its config.json: weights, KV cache, and weights that a token does not read.

Arithmetic on mappings. May not: read files, know devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEYS = (
    *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"),
    *("head_dim", "vocab_size", "tie_word_embeddings", "num_experts", "num_experts_per_tok", "moe_intermediate_size"),
)
"""What a registry entry may say of a model whose files are not here."""
_ATTENTION = ("full_attention", "sliding_attention", "chunked_attention")
_PLAIN_TYPES = frozenset(
    [
        "bamba",
        "bloom",
        "falcon_h1",
        "falcon_mamba",
        "jamba",
        "mamba",
        "mamba2",
        "mpt",
        "nemotron_h",
        "recurrent_gemma",
        "rwkv",
        "xlstm",
        "zamba",
        "zamba2",
    ]
)
_PLAIN_ARCHITECTURES = frozenset(
    [
        "arwkv7",
        "bloom",
        "falcon-h1",
        "granitehybrid",
        "jamba",
        "kimi-linear",
        "lfm2",
        "lfm2moe",
        "mamba",
        "mamba2",
        "mpt",
        "nemotron_h",
        "plamo2",
        "qwen35",
        "qwen35moe",
        "qwen3next",
        "rwkv6",
        "rwkv6qwen2",
        "rwkv7",
    ]
)


def number(config: Mapping[str, Any], key: str) -> int:
    """A count; 0 where the configuration has none."""
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def parameters(config: Mapping[str, Any]) -> int:
    """The number of weights of a model of the Llama shape; 0 if the configuration does not tell."""
    hidden, layers = number(config, "hidden_size"), number(config, "num_hidden_layers")
    if not hidden or not layers:
        return 0
    attention = 2 * hidden * (number(config, "num_attention_heads") * _head(config) + _keys(config))
    dense = 3 * hidden * number(config, "intermediate_size")
    return layers * (attention + (_experts(config) // layers or dense)) + wide(config)


def wide(config: Mapping[str, Any]) -> int:
    """Weights of the embeddings, and of the head if it has its own."""
    tables = 1 if config.get("tie_word_embeddings") else 2
    return tables * number(config, "vocab_size") * number(config, "hidden_size")


def kv_numbers(config: Mapping[str, Any]) -> int:
    """Numbers in the keys and values of one token in all layers; 0 if the configuration does not tell."""
    if not number(config, "hidden_size") or not number(config, "num_attention_heads"):
        return 0
    return 2 * number(config, "num_hidden_layers") * _keys(config)


def unread(config: Mapping[str, Any]) -> tuple[int, int]:
    """Weights that one token does not read: of the embedding, unless it is the head, too; of experts not chosen."""
    embedding = 0 if config.get("tie_word_embeddings") else wide(config) // 2
    experts, chosen = number(config, "num_experts"), number(config, "num_experts_per_tok")
    return embedding, _experts(config) * (experts - chosen) // experts if experts else 0


def decodes_plainly(config: Mapping[str, Any]) -> bool:
    """Whether a model is recurrent, or derives positions from its attention mask.

    Guesses cannot be verified side by side then, so lookahead gains nothing.
    """
    kinds = config.get("layer_types")
    if isinstance(kinds, list) and not set(map(str, kinds)) <= set(_ATTENTION):
        return True
    return config.get("model_type") in _PLAIN_TYPES


def architecture_decodes_plainly(name: str) -> bool:
    """The same of a GGUF file's architecture."""
    return name in _PLAIN_ARCHITECTURES


def _head(config: Mapping[str, Any]) -> int:
    return number(config, "head_dim") or number(config, "hidden_size") // (number(config, "num_attention_heads") or 1)


def _keys(config: Mapping[str, Any]) -> int:
    return (number(config, "num_key_value_heads") or number(config, "num_attention_heads")) * _head(config)


def _experts(config: Mapping[str, Any]) -> int:
    """Weights of all experts in all layers."""
    one = 3 * number(config, "hidden_size") * number(config, "moe_intermediate_size")
    return number(config, "num_hidden_layers") * number(config, "num_experts") * one
