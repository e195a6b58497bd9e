"""A forward in PyTorch for models of the Llama shape on a CPU: no transformers, row-exact from ids to logits.

Implements `base.Runner` where the C library is missing. Knows nothing of files (`load` does), sampling, drafts or
pools.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from lacli.models.base import Rows, Scores, nothing_to_prefill
from lacli.models.runners.fused.attention import tree_attention, tree_bias
from lacli.models.runners.fused.config import FusedConfig
from lacli.models.runners.fused.kv import BranchCache
from lacli.models.runners.quant import QuantLinear
from lacli.models.runners.rotary import RotaryTable
from lacli.models.runners.scores import scores_of

PREFILL_CHUNK = 64
"""Rows of a prefill forward: the most for which the linears are tested to be exact by row."""

_ONE_THREAD = 32_768
"""Elements up to which PyTorch runs an elementwise operation on one thread (at::internal::GRAIN_SIZE)."""


@dataclass(frozen=True, slots=True)
class FusedLayer:
    """The tensors of one layer; q, k, v and gate, up are one linear each."""

    input_norm: Tensor
    qkv: QuantLinear
    output: QuantLinear
    post_norm: Tensor
    gate_up: QuantLinear
    down: QuantLinear
    query_norm: Tensor | None = None
    """RMS norm of each head before rotation, [head_dim]; the same of the keys."""
    key_norm: Tensor | None = None


def _gated(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) * up, [rows, intermediate], in calls too small for PyTorch to share among threads.

    A share ends anywhere in a row, and its last few elements are rounded by other code than the rest.
    """
    rows = max(1, _ONE_THREAD // gate.shape[1])
    if gate.shape[0] <= rows:
        return nn.functional.silu(gate) * up
    return torch.cat([nn.functional.silu(part) for part in gate.split(rows)]).mul_(up)


class FusedRunner:
    """A model of the Llama shape, without sliding windows, with one sequence in its cache."""

    can_branch = True
    kernel = "torch"
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
        self._rotary = RotaryTable(config)
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
            raise nothing_to_prefill()
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

    def _turns(self, depths: Sequence[int]) -> tuple[Tensor, Tensor]:
        """cos and sin of each row's position, float32 [rows, head_dim]."""
        positions = np.array(depths) + self._cache.length
        self._rotary.reserve(int(positions.max()) + 1)
        cosine, sine = self._rotary.cosine[positions], self._rotary.sine[positions]
        return torch.from_numpy(np.hstack([cosine, cosine])), torch.from_numpy(np.hstack([sine, sine]))

    def _hidden(self, token_ids: Sequence[int], depths: Sequence[int], bias: Tensor) -> Tensor:
        """Hidden states of all rows after the last layer, float32 [rows, hidden]; writes their K and V."""
        config, rows = self._config, len(token_ids)
        self._cache.reserve(rows)
        cosine, sine = self._turns(depths)
        heads, kv_heads, head_dim = config.heads, config.kv_heads, config.head_dim
        half = head_dim // 2
        x = self._embedding[torch.tensor(token_ids)].to(torch.float32)
        for index, layer in enumerate(self._layers):
            normed = nn.functional.rms_norm(x, (config.hidden,), layer.input_norm, config.norm_eps)
            # [rows, heads + 2 kv_heads, head_dim] -> [heads + 2 kv_heads, rows, head_dim]
            qkv = layer.qkv.forward(normed).view(rows, heads + 2 * kv_heads, head_dim).transpose(0, 1)
            turning = qkv[: heads + kv_heads]
            if layer.query_norm is not None and layer.key_norm is not None:
                parts = ((qkv[:heads], layer.query_norm), (turning[heads:], layer.key_norm))
                turning = torch.cat(
                    [nn.functional.rms_norm(part, (head_dim,), norm, config.norm_eps) for part, norm in parts]
                )
            turned = torch.cat([-turning[..., half:], turning[..., :half]], dim=-1)
            rotated = turning * cosine + turned * sine
            keys, values = self._cache.write(index, rotated[heads:], qkv[heads + kv_heads :])
            mixed = tree_attention(rotated[:heads] * self._scale, keys, values, bias)
            x = x + layer.output.forward(mixed)
            normed = nn.functional.rms_norm(x, (config.hidden,), layer.post_norm, config.norm_eps)
            gate, up = layer.gate_up.forward(normed).split(config.intermediate, dim=-1)
            x = x + layer.down.forward(_gated(gate, up))
        return x
