"""The forward itself: from ids to the logits of the wanted rows, the same code for seven families.

Works on tensors only; of the KV cache it sees the buffers of each layer, of graphs nothing. Residuals and norms are
float32 whatever the dtype of the weights, as rounding errors would accumulate there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from lacli.models.runners.fused.device.attention import KeyValues
from lacli.models.runners.fused.device.config import DeviceConfig
from lacli.models.runners.fused.device.linears import Linear


class Attention(Protocol):
    """`attention.TreeAttention` or `ChainAttention`."""

    def __call__(self, queries: Tensor, new: KeyValues, stored: KeyValues, window: int) -> Tensor:
        """See `TreeAttention`."""
        ...


@dataclass(frozen=True, slots=True)
class StepLayer:
    """The weights of one layer; norms float32, a family's offset already added."""

    input_norm: Tensor
    qkv: Linear
    output: Linear
    mlp_norm: Tensor
    gate_up: Linear
    down: Linear
    head_norm: Tensor | None = None
    """Of each head of queries and keys before rotation, [heads + kv_heads, head_dim]."""
    attention_norm: Tensor | None = None
    """Of what attention adds; the next one of what the MLP adds."""
    output_norm: Tensor | None = None


@dataclass(frozen=True, slots=True)
class StepWeights:
    """All weights of a model."""

    embedding: Tensor
    """[vocab, hidden], in the dtype the model computes in."""
    layers: Sequence[StepLayer]
    final_norm: Tensor
    head: Linear


class StepModel:
    """A model of which any number of sequences may ask."""

    def __init__(self, config: DeviceConfig, weights: StepWeights) -> None:
        self.config = config
        self.weights = weights
        self.dtype, self.device = weights.embedding.dtype, weights.embedding.device
        # Rounded as the model was trained with it.
        self._embedding_scale = torch.tensor(config.embedding_scale, dtype=self.dtype).item()
        self._inverse = [
            [torch.from_numpy(each).to(self.device) for each in (rope.inverse, rope.beyond) if each is not None]
            for rope in config.ropes
        ]

    def logits(
        self,
        ids: Tensor,
        positions: Tensor,
        wanted: Tensor,
        attention: Attention,
        stored: tuple[Tensor, Tensor],
        beyond: bool = False,
    ) -> Tensor:
        """float32 [wanted, vocab].

        ids, positions: [rows]; wanted: rows; stored: the KV buffers, [layers, slots, kv_heads, head_dim]; beyond:
        whether the sequence is past the switch of its rotations.
        """
        config, sizes = self.config, self.config.sizes
        turns = [self._turns(index, positions, beyond) for index in range(len(config.ropes))]
        x = self._embedded(ids)
        for index, layer in enumerate(self.weights.layers):
            buffers = (stored[0][index], stored[1][index])
            x = self._layer(layer, x, turns[config.rope_of[index]], attention, buffers, sizes.windows[index])
        normed = self._norm(x.index_select(0, wanted), self.weights.final_norm)
        logits = self.weights.head(normed.to(self.dtype)).float()
        return torch.tanh(logits / config.logit_cap) * config.logit_cap if config.logit_cap else logits

    def _embedded(self, ids: Tensor) -> Tensor:
        x = nn.functional.embedding(ids, self.weights.embedding)
        return (x if self._embedding_scale == 1.0 else x * self._embedding_scale).float()

    def _layer(
        self,
        layer: StepLayer,
        x: Tensor,
        turns: tuple[Tensor, Tensor],
        attention: Attention,
        buffers: tuple[Tensor, Tensor],
        window: int,
    ) -> Tensor:
        sizes = self.config.sizes
        heads, kv_heads, head_dim = sizes.heads, sizes.kv_heads, sizes.head_dim
        qkv = layer.qkv(self._norm(x, layer.input_norm).to(self.dtype)).view(len(x), -1, head_dim)
        turning, values = qkv.split([heads + kv_heads, kv_heads], dim=1)
        turning = turning.float()
        if layer.head_norm is not None:
            turning = nn.functional.rms_norm(turning, (head_dim,), None, sizes.norm_eps) * layer.head_norm
        queries, keys = _rotated(turning, turns).to(self.dtype).split([heads, kv_heads], dim=1)
        mixed = layer.output(attention(queries, (keys, values), buffers, window))
        x = x + (mixed if layer.attention_norm is None else self._norm(mixed.float(), layer.attention_norm))
        gate, up = layer.gate_up(self._norm(x, layer.mlp_norm).to(self.dtype)).chunk(2, dim=-1)
        result = layer.down(self._gated(gate, up))
        return x + (result if layer.output_norm is None else self._norm(result.float(), layer.output_norm))

    def _gated(self, gate: Tensor, up: Tensor) -> Tensor:
        if self.config.family.activation == "silu":
            return nn.functional.silu(gate) * up
        return nn.functional.gelu(gate, approximate="tanh") * up

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return nn.functional.rms_norm(x, weight.shape, weight, self.config.sizes.norm_eps)

    def _turns(self, index: int, positions: Tensor, beyond: bool) -> tuple[Tensor, Tensor]:
        """What each row is rotated by, for one kind of rotation: cosines and signed sines, float32 [rows, 1, 2, pairs].

        The angle is rounded to float32 as in transformers and in our C; what is made of it, once.
        """
        inverse = self._inverse[index][-1 if beyond else 0]
        angles = (positions.float()[:, None] * inverse).double()[:, None]
        scale = self.config.ropes[index].scale
        cosine, sine = angles.cos() * scale, angles.sin() * scale
        return torch.stack([cosine, cosine], dim=2).float(), torch.stack([-sine, sine], dim=2).float()


def _rotated(x: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
    """[rows, heads, head_dim], the first 2 * pairs elements of each head turned. In as few kernels as can be: a step is
    hundreds of them."""
    cosine, signed_sine = turns
    width = 2 * cosine.shape[-1]
    halves = x[..., :width].unflatten(-1, (2, -1))
    turned = torch.addcmul(halves * cosine, halves.flip(2), signed_sine).flatten(2)
    return turned if width == x.shape[-1] else torch.cat([turned, x[..., width:]], dim=-1)
