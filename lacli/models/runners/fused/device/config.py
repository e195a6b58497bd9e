"""What the forward for devices needs to know of a model: sizes, rotations, and what its family does otherwise.

Families: llama, qwen2, qwen3, mistral, phi3, gemma2, gemma3_text. Read from config.json; None for every model that is
not surely computed as it should be, which the generic runner then serves. No torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lacli.models.runners.fused.config import FusedConfig, sliding_layers
from lacli.models.runners.fused.device.rope import Rope, read_rope


@dataclass(frozen=True, slots=True)
class Family:
    """What sets a family apart from Llama."""

    activation: str = "silu"
    """Of the gate: silu, or gelu by its tanh approximation."""
    norm_offset: float = 0.0
    """Added to the weights of every norm."""
    sandwich: bool = False
    """Whether the results of attention and MLP are normalised, too, before they are added."""
    joined: bool = False
    """Whether q, k, v and gate, up are stored as one matrix each."""


_GEMMA = Family(activation="gelu_pytorch_tanh", norm_offset=1.0, sandwich=True)
FAMILIES: dict[str, Family] = {
    "llama": Family(),
    "qwen2": Family(),
    "qwen3": Family(),
    "mistral": Family(),
    "phi3": Family(joined=True),
    "gemma2": _GEMMA,
    "gemma3_text": _GEMMA,
}


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """Everything but the weights."""

    sizes: FusedConfig
    family: Family
    ropes: tuple[Rope, ...]
    """The kinds of rotation there are; most models have one."""
    rope_of: tuple[int, ...]
    """Which of them each layer uses."""
    embedding_scale: float
    query_scale: float
    attention_cap: float
    """Scores become cap * tanh(score / cap); 0 where they stay as they are. So do logits by the next one."""
    logit_cap: float

    @property
    def switch(self) -> int:
        """Longest sequence before rotations, and with them all keys, are others; 0 where that never happens."""
        switch = max(rope.switch for rope in self.ropes)
        return switch if switch < self.sizes.context_size else 0

    @staticmethod
    def read(config: Mapping[str, Any], context_size: int | None = None) -> DeviceConfig | None:
        """From a Hugging Face config.json. Raises as `FusedConfig.read`."""
        config = dict(config)
        family = FAMILIES.get(str(config.get("model_type")))
        if family is None or "quantization_config" in config:
            return None
        if config["model_type"] == "mistral" and config.get("layer_types"):
            return None
        named = "hidden_activation" if family.sandwich else "hidden_act"
        if (config.get(named) or family.activation) != family.activation or config.get("use_bidirectional_attention"):
            return None
        sizes = FusedConfig.sized(config, {}, context_size)
        if sizes is None:
            return None
        kinds = _rope_kinds(config, sizes.layers)
        ropes = [read_rope(kind, config, sizes) for kind in kinds[0]]
        if any(rope is None for rope in ropes):
            return None
        gemma2 = config["model_type"] == "gemma2"
        scalar = config.get("query_pre_attn_scalar", 256) if family.sandwich else sizes.head_dim
        return DeviceConfig(
            sizes=sizes,
            family=family,
            ropes=tuple(rope for rope in ropes if rope is not None),
            rope_of=kinds[1],
            embedding_scale=sizes.hidden**0.5 if family.sandwich else 1.0,
            query_scale=float(scalar) ** -0.5,
            attention_cap=float(config.get("attn_logit_softcapping", 50.0 if gemma2 else None) or 0.0),
            logit_cap=float(config.get("final_logit_softcapping", 30.0 if gemma2 else None) or 0.0),
        )


def _rope_kinds(config: dict[str, Any], layers: int) -> tuple[list[dict[str, Any]], tuple[int, ...]]:
    """Rope parameters of each kind of layer in Hugging Face's present form, and the kind of each layer."""
    given = config.get("rope_parameters") or {}
    if config["model_type"] != "gemma3_text":
        rope = dict(given or config.get("rope_scaling") or {})
        rope.setdefault("rope_theta", config.get("rope_theta", 10000.0))
        return [rope], (0,) * layers
    if "full_attention" in given and "sliding_attention" in given:
        far, near = dict(given["full_attention"]), dict(given["sliding_attention"])
    else:
        far = {"rope_theta": config.get("rope_theta", 1e6), **(config.get("rope_scaling") or {})}
        near = {"rope_theta": config.get("rope_local_base_freq", 10000.0)}
    return [far, near], tuple(int(slides) for slides in sliding_layers(config, layers))
