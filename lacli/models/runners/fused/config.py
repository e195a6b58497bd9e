"""What a forward of the Llama shape needs to know of a model: read from config.json, refused where it does not fit.

Families: llama, qwen2, qwen3, mistral; `sized` also reads those that only the forward for devices knows
(`device.config`). The row-exact and the native runner use the result; models for which it is None are left to others.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from lacli.errors import ModelUnavailable

AGAIN = "fetch the model again"
_ROPE_TYPES = ("default", "linear", "llama3")
# What transformers takes where config.json is silent: (heads of keys, head_dim, sliding window); None: the heads',
# hidden / heads, none.
_DEFAULTS: dict[str, tuple[int | None, int | None, int | None]] = {
    "llama": (None, None, None),
    "qwen2": (32, None, 4096),
    "qwen3": (32, 128, 4096),
    "mistral": (8, None, 4096),
    "phi3": (None, None, None),
    "gemma2": (4, 256, 4096),
    "gemma3_text": (4, 256, 4096),
}
_LLAMA_SHAPE = ("llama", "qwen2", "qwen3", "mistral")


@dataclass(frozen=True, slots=True)
class FusedConfig:
    """The sizes and constants of one model."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    intermediate: int
    vocab_size: int
    context_size: int
    norm_eps: float
    rope: dict[str, Any]
    """Hugging Face `rope_parameters`: rope_theta, rope_type and that type's own numbers."""
    head_norms: bool
    """Whether queries and keys are normalised head by head before they are rotated (Qwen3)."""
    windows: tuple[int, ...]
    """Positions a row of each layer sees, itself included; 0 where that is the whole context."""

    @property
    def multiplied(self) -> int:
        """Weights that each row is multiplied with on its way through the layers."""
        attention = self.hidden * self.head_dim * 2 * (self.heads + self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.intermediate)

    @staticmethod
    def read(config: dict[str, Any], context_size: int | None = None) -> FusedConfig | None:
        """From a Hugging Face config.json; None where this forward does not fit the model.

        Raises ModelUnavailable where the numbers describe no model.
        """
        family = config.get("model_type")
        rope = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
        rope.setdefault("rope_theta", config.get("rope_theta", 10000.0))
        rope.setdefault("rope_type", rope.get("type", "default"))
        plain = (
            family in _LLAMA_SHAPE
            and config.get("hidden_act", "silu") == "silu"
            and rope["rope_type"] in _ROPE_TYPES
            and not any(isinstance(value, dict) for value in rope.values())
            and all(where.get("partial_rotary_factor") in (None, 1.0) for where in (config, rope))
            and "quantization_config" not in config
            and not (family == "mistral" and config.get("layer_types"))
        )
        return FusedConfig.sized(config, rope, context_size) if plain else None

    @staticmethod
    def sized(config: dict[str, Any], rope: dict[str, Any], context_size: int | None) -> FusedConfig | None:
        """The sizes of a model of a known family; None where heads cannot be rotated. Raises as `read`."""
        family = str(config["model_type"])
        kv_default, width_default, _ = _DEFAULTS[family]
        heads, hidden, layers = (
            _size(config, key) for key in ("num_attention_heads", "hidden_size", "num_hidden_layers")
        )
        kv_heads = _size(config, "num_key_value_heads", kv_default or heads)
        if heads % kv_heads:
            raise ModelUnavailable(
                f"config.json says {heads} attention heads and {kv_heads} of keys, which do not divide", AGAIN
            )
        head_dim = _size(config, "head_dim", width_default or hidden // heads)
        if head_dim % 2:
            return None
        context = context_size or _size(config, "max_position_embeddings")
        return FusedConfig(
            layers=layers,
            heads=heads,
            kv_heads=kv_heads,
            head_dim=head_dim,
            hidden=hidden,
            intermediate=_size(config, "intermediate_size"),
            vocab_size=_size(config, "vocab_size"),
            context_size=context,
            norm_eps=_number(config, "rms_norm_eps", 1e-6),
            rope=rope,
            head_norms=family in ("qwen3", "gemma3_text"),
            windows=tuple(0 if window >= context else window for window in _windows(config, layers, context)),
        )

    def shape_of(self, name: str) -> tuple[int, int]:
        """Rows and columns of the linear of this Hugging Face name; the embedding and the head are alike."""
        query, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "q_proj": (query, self.hidden),
            "k_proj": (keys, self.hidden),
            "v_proj": (keys, self.hidden),
            "o_proj": (self.hidden, query),
            "qkv_proj": (query + 2 * keys, self.hidden),
            "gate_up_proj": (2 * self.intermediate, self.hidden),
            "gate_proj": (self.intermediate, self.hidden),
            "up_proj": (self.intermediate, self.hidden),
            "down_proj": (self.hidden, self.intermediate),
        }.get(name.rpartition(".")[2], (self.vocab_size, self.hidden))

    def check_shape(self, name: str, shape: Sequence[int]) -> None:
        """Refuse weights that are not those of this config: some would even run."""
        if tuple(shape) != self.shape_of(name):
            raise ModelUnavailable(
                f"{name}.weight is {list(shape)} where config.json asks for {list(self.shape_of(name))}", AGAIN
            )

    def refuse_more(self, names: Container[str]) -> None:
        """Refuse weights of more layers than this config has."""
        if f"model.layers.{self.layers}.input_layernorm.weight" in names:
            raise ModelUnavailable(f"the weights have more than the {self.layers} layers of config.json", AGAIN)


def _windows(config: dict[str, Any], layers: int, context: int) -> list[int]:
    """The window of each layer, `context` where it sees everything."""
    family = str(config["model_type"])
    window = config.get("sliding_window", _DEFAULTS[family][2])
    optional = family in ("qwen2", "qwen3")
    if family == "llama" or window is None or (optional and not config.get("use_sliding_window", False)):
        return [context] * layers
    window = _size({"sliding_window": window}, "sliding_window")
    if family in ("mistral", "phi3"):
        return [window] * layers
    return [window if slides else context for slides in sliding_layers(config, layers)]


def sliding_layers(config: dict[str, Any], layers: int) -> list[bool]:
    """Which layers slide where a model has both kinds: named one by one, or by its family's rule."""
    kinds = config.get("layer_types")
    if kinds is None:
        if config["model_type"] in ("qwen2", "qwen3"):
            first = config.get("max_window_layers", 28)
            return [layer >= first for layer in range(layers)]
        every = 2 if config["model_type"] == "gemma2" else _size(config, "sliding_window_pattern", 6)
        return [(layer + 1) % every != 0 for layer in range(layers)]
    if len(kinds) < layers:
        raise ModelUnavailable(f"config.json names the kind of {len(kinds)} layers of {layers}", AGAIN)
    return [kind == "sliding_attention" for kind in kinds[:layers]]


def _number(config: dict[str, Any], key: str, default: float) -> float:
    value = config.get(key, default)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ModelUnavailable(f"config.json says {key} = {value!r}, which is no number", AGAIN)
    return value


def _size(config: dict[str, Any], key: str, default: int | None = None) -> int:
    value = config.get(key)
    if value is None:
        value = default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ModelUnavailable(f"config.json says {key} = {value!r}, which is no size", AGAIN)
    return value
