"""What a GGUF file's metadata and tensor names mean in Hugging Face's terms: config.json and the tensor plan.

Lives here: our own mapping for llama, qwen2 and qwen3, checked against the tensors' real shapes. May not: read or write
weights (`weights` does), nor handle other architectures (those go through transformers, `legacy`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lacli.errors import ModelUnavailable
from lacli.models.gguf.read import GgufFile, load_tensor

OWN = ("llama", "qwen2", "qwen3")
_CLASSES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
_FALLBACK_CONTEXT = 2048
_DAMAGED = "fetch the file again"
_MOST_FLOAT32 = 3.4028234e38
Matrix = Literal["", "linear", "vocabulary"]
_FREQUENCY_FACTORS = "rope_freqs.weight"
_NOT_WEIGHTS = (_FREQUENCY_FACTORS, "rope_factors_long.weight", "rope_factors_short.weight")


@dataclass(frozen=True, slots=True)
class Planned:
    """One tensor of the Hugging Face model and where it comes from."""

    name: str
    """Hugging Face name."""
    source: str
    """GGUF name."""
    shape: tuple[int, ...]
    matrix: Matrix = ""
    """Which kind of matrix it is: of a linear, or embeddings and output head; empty for norms and biases."""
    permuted_heads: int = 0
    """Heads whose rows llama.cpp interleaved for its rotary embedding; 0 = in order."""


def read_config(file: GgufFile) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The config.json of a llama, qwen2 or qwen3 file, and notes on what had to be assumed."""
    architecture = file.architecture
    _refuse_variants(file, architecture)
    keys = _Keys(file, architecture)
    hidden = keys.whole("embedding_length")
    heads = keys.per_layer("attention.head_count")
    kv_heads = keys.per_layer("attention.head_count_kv", heads)
    head_dim = keys.whole("attention.key_length", keys.whole("rope.dimension_count", hidden // heads))
    value_dim = keys.whole("attention.value_length", head_dim)
    if value_dim != head_dim or keys.whole("rope.dimension_count", head_dim) != head_dim:
        raise ModelUnavailable(
            f"{file.paths[0].name} has heads of an unusual shape (key {head_dim}, value {value_dim})",
            "get another model, or its Hugging Face folder",
        )
    if head_dim % 2:
        raise ModelUnavailable(f"{file.paths[0].name} has heads of {head_dim} values, an odd number", _DAMAGED)
    layers = keys.whole("block_count")
    if layers > len(file.tensors):
        raise ModelUnavailable(
            f"{file.paths[0].name} asks for {layers:,} layers and has {len(file.tensors):,} tensors", _DAMAGED
        )
    notes: list[str] = []
    context = keys.whole("context_length", 0)
    if not context:
        context = _FALLBACK_CONTEXT
        notes.append(f"the file lacks {architecture}.context_length; {context} is assumed")
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise ModelUnavailable(f"{file.paths[0].name} lacks the tensor token_embd.weight", _DAMAGED)
    config: dict[str, Any] = {
        "architectures": [_CLASSES[architecture]],
        "model_type": architecture,
        "vocab_size": embedding.shape[0],
        "hidden_size": hidden,
        "intermediate_size": keys.per_layer("feed_forward_length"),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": context,
        "rms_norm_eps": keys.number("attention.layer_norm_rms_epsilon", 1e-6 if architecture != "llama" else 1e-5),
        "rope_parameters": _rope(file, keys, head_dim, context),
        "tie_word_embeddings": "output.weight" not in file.tensors,
        "initializer_range": 0.02,
        "use_cache": True,
    }
    if architecture == "llama":
        config["attention_bias"] = "blk.0.attn_q.bias" in file.tensors
        config["mlp_bias"] = "blk.0.ffn_gate.bias" in file.tensors
    if architecture == "qwen3":
        config["attention_bias"] = "blk.0.attn_q.bias" in file.tensors
    for name in ("bos", "eos", "pad"):
        key = "tokenizer.ggml.padding_token_id" if name == "pad" else f"tokenizer.ggml.{name}_token_id"
        if isinstance(file.fields.get(key), int):
            config[f"{name}_token_id"] = file.fields[key]
    return config, tuple(notes)


def plan(file: GgufFile, config: Mapping[str, Any]) -> list[Planned]:
    """Every tensor of the model; refuses files whose tensors are absent, left over or of the wrong shape."""
    name = file.paths[0].name
    planned = [item for item in _expected(config) if item.source in file.tensors or not _optional(item, file, config)]
    for item in planned:
        found = file.tensors.get(item.source)
        if found is None:
            raise ModelUnavailable(
                f"{file.paths[0].name} lacks the tensor {item.source}", "fetch the file again, or another quantisation"
            )
        if found.shape != item.shape:
            raise ModelUnavailable(
                f"{name}: {item.source} has shape {list(found.shape)}, its metadata asks for {list(item.shape)}",
                "fetch the file again",
            )
    used = {item.source for item in planned} | set(_NOT_WEIGHTS)
    unknown = [name for name in file.tensors if name not in used and not name.endswith("attn_rot_embd.weight")]
    if unknown:
        raise ModelUnavailable(
            f"{file.paths[0].name} is a variant of {config['model_type']} unknown here (tensor {unknown[0][:80]!r})",
            "use the Hugging Face folder of the model",
        )
    return planned


def _optional(item: Planned, file: GgufFile, config: Mapping[str, Any]) -> bool:
    return item.name == "lm_head.weight" and bool(config["tie_word_embeddings"])


def _expected(config: Mapping[str, Any]) -> Iterator[Planned]:
    hidden, inner, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    heads, kv_heads, head_dim = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    llama = config["model_type"] == "llama"
    biased = config["model_type"] == "qwen2" or bool(config.get("attention_bias"))
    yield Planned("model.embed_tokens.weight", "token_embd.weight", (vocab, hidden), "vocabulary")
    yield Planned("model.norm.weight", "output_norm.weight", (hidden,))
    yield Planned("lm_head.weight", "output.weight", (vocab, hidden), "vocabulary")
    for index in range(config["num_hidden_layers"]):
        ours, theirs = f"model.layers.{index}", f"blk.{index}"
        yield Planned(f"{ours}.input_layernorm.weight", f"{theirs}.attn_norm.weight", (hidden,))
        yield Planned(f"{ours}.post_attention_layernorm.weight", f"{theirs}.ffn_norm.weight", (hidden,))
        for short, rows, permuted in (("q", heads, heads), ("k", kv_heads, kv_heads), ("v", kv_heads, 0)):
            name, source = f"{ours}.self_attn.{short}_proj", f"{theirs}.attn_{short}"
            permuted = permuted if llama else 0
            yield Planned(f"{name}.weight", f"{source}.weight", (rows * head_dim, hidden), "linear", permuted)
            if biased:
                yield Planned(f"{name}.bias", f"{source}.bias", (rows * head_dim,), "", permuted)
        if config["model_type"] == "qwen3":
            yield Planned(f"{ours}.self_attn.q_norm.weight", f"{theirs}.attn_q_norm.weight", (head_dim,))
            yield Planned(f"{ours}.self_attn.k_norm.weight", f"{theirs}.attn_k_norm.weight", (head_dim,))
        yield Planned(
            f"{ours}.self_attn.o_proj.weight", f"{theirs}.attn_output.weight", (hidden, heads * head_dim), "linear"
        )
        if biased and config["model_type"] != "qwen2":
            yield Planned(f"{ours}.self_attn.o_proj.bias", f"{theirs}.attn_output.bias", (hidden,))
        for short, rows, columns in (("gate", inner, hidden), ("up", inner, hidden), ("down", hidden, inner)):
            yield Planned(f"{ours}.mlp.{short}_proj.weight", f"{theirs}.ffn_{short}.weight", (rows, columns), "linear")
            if config.get("mlp_bias"):
                yield Planned(f"{ours}.mlp.{short}_proj.bias", f"{theirs}.ffn_{short}.bias", (rows,))


def _refuse_variants(file: GgufFile, architecture: str) -> None:
    if file.fields.get(f"{architecture}.expert_count"):
        raise ModelUnavailable(
            f"{file.paths[0].name} is a mixture-of-experts {architecture}, which cannot be read from GGUF here",
            "use the Hugging Face folder",
        )


class _Keys:
    """The architecture's own metadata, with types checked."""

    def __init__(self, file: GgufFile, architecture: str) -> None:
        self.name = file.paths[0].name
        self.fields = file.fields
        self.architecture = architecture

    def _get(self, key: str) -> Any:
        return self.fields.get(f"{self.architecture}.{key}")

    def whole(self, key: str, default: int | None = None) -> int:
        value = self._get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < 0 or (value == 0 and default is None):
            found = "lacks" if value is None else f"has {value!r:.40} for"
            raise ModelUnavailable(
                f"{self.name} {found} {self.architecture}.{key}", "get a file made with a current llama.cpp"
            )
        return value

    def per_layer(self, key: str, default: int | None = None) -> int:
        """A number some files give per layer; only the same one for all layers is understood."""
        value = self._get(key)
        if not isinstance(value, list):
            return self.whole(key, default)
        first = value[0] if value else None
        if not isinstance(first, int) or first <= 0 or any(each != first for each in value):
            raise ModelUnavailable(
                f"{self.name} has a different {self.architecture}.{key} per layer",
                "use the Hugging Face folder of the model",
            )
        return first

    def number(self, key: str, default: float) -> float:
        value = self._get(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return default
        if not abs(value) <= _MOST_FLOAT32:
            raise ModelUnavailable(f"{self.name} has {value!r} for {self.architecture}.{key}", _DAMAGED)
        return float32_as_written(value)

    def text(self, key: str) -> str:
        value = self._get(key)
        return value if isinstance(value, str) else ""


def float32_as_written(value: float) -> float:
    """The shortest decimal that rounds to the same float32: 1e-05 and not 9.999999747378752e-06."""
    single = struct.unpack("<f", struct.pack("<f", value))[0]
    for digits in range(1, 10):
        short = float(f"{single:.{digits}g}")
        if struct.unpack("<f", struct.pack("<f", short))[0] == single:
            return short
    return value


def _rope(file: GgufFile, keys: _Keys, head_dim: int, context: int) -> dict[str, Any]:
    theta = keys.number("rope.freq_base", 10000.0)
    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": theta}
    kind = keys.text("rope.scaling.type") or ("linear" if keys.number("rope.scale_linear", 1.0) != 1.0 else "none")
    factor = keys.number("rope.scaling.factor", keys.number("rope.scale_linear", 1.0))
    original = keys.whole("rope.scaling.original_context_length", context)
    if "rope_factors_long.weight" in file.tensors:
        return _long_rope(file, keys, theta, head_dim, original)
    if _FREQUENCY_FACTORS in file.tensors:
        return _factors(_values(file, _FREQUENCY_FACTORS, head_dim), theta, head_dim, context)
    if kind == "linear" and factor != 1.0:
        rope |= {"rope_type": "linear", "factor": factor}
    elif kind == "yarn":
        rope |= {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original}
        if keys.number("rope.scaling.attn_factor", 0.0):
            rope["attention_factor"] = keys.number("rope.scaling.attn_factor", 0.0)
    elif kind not in ("none", "linear"):
        raise ModelUnavailable(
            f"{keys.name} asks for rope scaling {kind[:80]!r}, which is unknown here",
            "use the Hugging Face folder of the model",
        )
    return rope


def _long_rope(file: GgufFile, keys: _Keys, theta: float, head_dim: int, original: int) -> dict[str, Any]:
    short = "rope_factors_short.weight"
    rope: dict[str, Any] = {
        "rope_type": "longrope",
        "rope_theta": theta,
        "long_factor": _values(file, "rope_factors_long.weight", head_dim),
        "short_factor": _values(file, short if short in file.tensors else "rope_factors_long.weight", head_dim),
        "original_max_position_embeddings": original,
    }
    if keys.number("rope.scaling.attn_factor", 0.0):
        rope["attention_factor"] = keys.number("rope.scaling.attn_factor", 0.0)
    return rope


def _values(file: GgufFile, name: str, head_dim: int) -> list[float]:
    values = [float(value) for value in load_tensor(file.tensors[name]).reshape(-1)]
    if len(values) != head_dim // 2 or not all(0 < value < float("inf") for value in values):
        raise ModelUnavailable(
            f"{file.paths[0].name}: {name} does not hold {head_dim // 2} positive factors", "fetch the file again"
        )
    return values


def _factors(factors: list[float], theta: float, head_dim: int, context: int) -> dict[str, Any]:
    """Divisors of the rotary frequencies: llama3 scaling where they are its result, and themselves where not.

    The converter of llama.cpp writes llama3's four numbers as one tensor. Where the known numbers give that tensor back
    the config says llama3; else longrope with both lists equal, which divides by them at every length.
    """
    low, high, factor = 1.0, 4.0, float32_as_written(max(factors))
    for original in (8192, context):
        made = _llama3_factors(theta, head_dim, factor, low, high, original)
        if all(abs(one - two) <= 1e-4 * one for one, two in zip(factors, made, strict=True)):
            return {
                "rope_type": "llama3",
                "rope_theta": theta,
                "factor": factor,
                "low_freq_factor": low,
                "high_freq_factor": high,
                "original_max_position_embeddings": original,
            }
    return {
        "rope_type": "longrope",
        "rope_theta": theta,
        "short_factor": factors,
        "long_factor": factors,
        "factor": 1.0,
        "attention_factor": 1.0,
        "original_max_position_embeddings": context,
    }


def _llama3_factors(theta: float, head_dim: int, factor: float, low: float, high: float, original: int) -> list[float]:
    made = []
    for index in range(0, head_dim, 2):
        wavelength = 2 * 3.141592653589793 * theta ** (index / head_dim)
        if wavelength < original / high:
            made.append(1.0)
        elif wavelength > original / low:
            made.append(factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            made.append(1 / ((1 - smooth) / factor + smooth))
    return made
