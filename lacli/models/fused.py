"""Our own forward for Llama-architecture models on a CPU: no transformers, row-exact from ids to logits.

Implements `base.Runner`. Reads a config dict and named tensors; knows nothing of files (that is `load`), sampling,
drafts or pools.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lacli.errors import LacliError, ModelUnavailable
from lacli.models.attention import tree_attention, tree_bias
from lacli.models.base import Rows, Scores
from lacli.models.kv import BranchCache
from lacli.models.quant import QuantLinear
from lacli.models.scores import scores_of

PREFILL_CHUNK = 64
"""Rows of a prefill forward: the most for which the linears are tested to be exact by row."""

_AGAIN = "fetch the model again"
_ONE_THREAD = 32_768
"""Elements up to which PyTorch runs an elementwise operation on one thread (at::internal::GRAIN_SIZE)."""


@dataclass(frozen=True, slots=True)
class FusedConfig:
    """What the forward needs to know of a model."""

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

    @staticmethod
    def read(config: dict[str, Any], context_size: int | None = None) -> FusedConfig | None:
        """From a Hugging Face config.json; None where this forward does not fit the model.

        Raises ModelUnavailable where the numbers describe no model.
        """
        rope = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
        rope.setdefault("rope_theta", config.get("rope_theta", 10000.0))
        rope.setdefault("rope_type", rope.get("type", "default"))
        plain = (
            config.get("model_type") == "llama"
            and config.get("hidden_act", "silu") == "silu"
            and rope["rope_type"] in ("default", "linear", "llama3")
            and "quantization_config" not in config
        )
        if not plain:
            return None
        heads, hidden = _size(config, "num_attention_heads"), _size(config, "hidden_size")
        kv_heads = _size(config, "num_key_value_heads", heads)
        if heads % kv_heads:
            raise ModelUnavailable(
                f"config.json says {heads} attention heads and {kv_heads} of keys, which do not divide", _AGAIN
            )
        return FusedConfig(
            layers=_size(config, "num_hidden_layers"),
            heads=heads,
            kv_heads=kv_heads,
            head_dim=_size(config, "head_dim", hidden // heads),
            hidden=hidden,
            intermediate=_size(config, "intermediate_size"),
            vocab_size=_size(config, "vocab_size"),
            context_size=context_size or _size(config, "max_position_embeddings"),
            norm_eps=config.get("rms_norm_eps", 1e-6),
            rope=rope,
        )

    def shape_of(self, name: str) -> tuple[int, int]:
        """Rows and columns of the linear of this Hugging Face name; the embedding and the head are alike."""
        query, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "q_proj": (query, self.hidden),
            "k_proj": (keys, self.hidden),
            "v_proj": (keys, self.hidden),
            "o_proj": (self.hidden, query),
            "gate_proj": (self.intermediate, self.hidden),
            "up_proj": (self.intermediate, self.hidden),
            "down_proj": (self.hidden, self.intermediate),
        }.get(name.rpartition(".")[2], (self.vocab_size, self.hidden))


def _size(config: dict[str, Any], key: str, default: int | None = None) -> int:
    value = config.get(key)
    if value is None:
        value = default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ModelUnavailable(f"config.json says {key} = {value!r}, which is no size", _AGAIN)
    return value


@dataclass(frozen=True, slots=True)
class FusedLayer:
    """The tensors of one layer; q, k, v and gate, up are one linear each."""

    input_norm: Tensor
    qkv: QuantLinear
    output: QuantLinear
    post_norm: Tensor
    gate_up: QuantLinear
    down: QuantLinear


def inverse_frequencies(config: FusedConfig) -> Tensor:
    """Rotary frequencies, float32 [head_dim / 2], for rope types default, linear and llama3, as in transformers."""
    rope = config.rope
    exponents = torch.arange(0, config.head_dim, 2, dtype=torch.int64).to(torch.float32) / config.head_dim
    inverse = 1.0 / (rope["rope_theta"] ** exponents)
    if rope["rope_type"] == "linear":
        return inverse / rope["factor"]
    if rope["rope_type"] == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        old_context = rope["original_max_position_embeddings"]
        wavelength = 2 * math.pi / inverse
        smooth = (old_context / wavelength - low) / (high - low)
        blended = (1 - smooth) * inverse / rope["factor"] + smooth * inverse
        scaled = torch.where(wavelength > old_context / low, inverse / rope["factor"], inverse)
        medium = (wavelength <= old_context / low) & (wavelength >= old_context / high)
        return torch.where(medium, blended, scaled)
    return inverse


def _gated(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) * up, [rows, intermediate], in calls too small for PyTorch to share among threads.

    A share ends anywhere in a row, and its last few elements are rounded by other code than the rest.
    """
    rows = max(1, _ONE_THREAD // gate.shape[1])
    if gate.shape[0] <= rows:
        return nn.functional.silu(gate) * up
    return torch.cat([nn.functional.silu(part) for part in gate.split(rows)]).mul_(up)


class FusedRunner:
    """A Llama-architecture model with one sequence in its cache."""

    can_branch = True
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        config: FusedConfig,
        embedding: Tensor,
        layers: Sequence[FusedLayer],
        final_norm: Tensor,
        head: QuantLinear,
    ) -> None:
        self.vocab_size = config.vocab_size
        self.context_size = config.context_size
        self._config = config
        self._embedding = embedding
        self._layers = list(layers)
        self._final_norm = final_norm
        self._head = head
        self._inverse = inverse_frequencies(config)
        self._cosine = self._sine = torch.empty(0, config.head_dim)
        self._cache = BranchCache(config.layers, config.kv_heads, config.head_dim, config.context_size)
        self._scale = config.head_dim**-0.5
        self._chain_bias = tree_bias(range(-1, PREFILL_CHUNK - 1))

    @property
    def length(self) -> int:
        """Token positions in the KV cache."""
        return self._cache.length

    @property
    def cache_bytes(self) -> int:
        """Bytes of the KV cache."""
        return self._cache.nbytes

    @torch.inference_mode()
    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        """See `base.Runner.prefill`."""
        hidden = None
        for start in range(0, len(token_ids), PREFILL_CHUNK):
            chunk = token_ids[start : start + PREFILL_CHUNK]
            rows = len(chunk)
            hidden = self._hidden(chunk, range(rows), self._chain_bias[:rows, :rows])
            self._cache.extend(rows)
            if on_chunk is not None and not on_chunk(start + rows):
                return None
        if hidden is None:
            raise LacliError("there is nothing to prefill", "give a prompt of at least one token")
        return self._scores(hidden[-1:])

    @torch.inference_mode()
    def forward(self, rows: Rows) -> Scores:
        """See `base.Runner.forward`."""
        bias = tree_bias(rows.parents)
        hidden = self._hidden(rows.token_ids, rows.depths(), bias)
        if len(rows.wanted) != len(rows.token_ids):
            hidden = hidden[list(rows.wanted)]
        return self._scores(hidden)

    @torch.inference_mode()
    def keep(self, path: Sequence[int]) -> None:
        """See `base.Runner.keep`."""
        self._cache.keep(path)

    def truncate(self, length: int) -> None:
        """See `base.Runner.truncate`."""
        self._cache.truncate(length)

    def _scores(self, hidden: Tensor) -> Scores:
        normed = nn.functional.rms_norm(hidden, (self._config.hidden,), self._final_norm, self._config.norm_eps)
        return scores_of(self._head.forward(normed))

    def _rotary(self, depths: Sequence[int]) -> tuple[Tensor, Tensor]:
        """cos and sin of each row's position, float32 [rows, head_dim]."""
        positions = torch.tensor(depths) + self._cache.length
        needed = self._cache.length + max(depths) + 1
        if needed > self._cosine.shape[0]:
            angles = torch.arange(max(needed, 2 * self._cosine.shape[0])).to(torch.float32)[:, None] * self._inverse
            angles = torch.cat([angles, angles], dim=-1)
            self._cosine, self._sine = angles.cos(), angles.sin()
        return self._cosine[positions], self._sine[positions]

    def _hidden(self, token_ids: Sequence[int], depths: Sequence[int], bias: Tensor) -> Tensor:
        """Hidden states of all rows after the last layer, float32 [rows, hidden]; writes their K and V."""
        config, rows = self._config, len(token_ids)
        self._cache.reserve(rows)
        cosine, sine = self._rotary(depths)
        heads, kv_heads, head_dim = config.heads, config.kv_heads, config.head_dim
        half = head_dim // 2
        x = self._embedding[torch.tensor(token_ids)].to(torch.float32)
        for index, layer in enumerate(self._layers):
            normed = nn.functional.rms_norm(x, (config.hidden,), layer.input_norm, config.norm_eps)
            # [rows, heads + 2 kv_heads, head_dim] -> [heads + 2 kv_heads, rows, head_dim]
            qkv = layer.qkv.forward(normed).view(rows, heads + 2 * kv_heads, head_dim).transpose(0, 1)
            turning = qkv[: heads + kv_heads]
            turned = torch.cat([-turning[..., half:], turning[..., :half]], dim=-1)
            rotated = turning * cosine + turned * sine
            keys, values = self._cache.write(index, rotated[heads:], qkv[heads + kv_heads :])
            mixed = tree_attention(rotated[:heads] * self._scale, keys, values, bias)
            x = x + layer.output.forward(mixed)
            normed = nn.functional.rms_norm(x, (config.hidden,), layer.post_norm, config.norm_eps)
            gate, up = layer.gate_up.forward(normed).split(config.intermediate, dim=-1)
            x = x + layer.down.forward(_gated(gate, up))
        return x
