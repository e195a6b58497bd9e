"""Attention of a tree of rows over a long past, with no shape and no sync that depends on the data.

Two ways. *Merged*: the past, which every row sees whole, goes through a kernel that gives log-sum-exp, the tree's own
rows through a small masked attention, and both are merged by their log-sum-exp; so flash kernels, which take no mask,
serve trees. *Masked*: one attention over all slots of the bucket under a mask, for sliding windows, soft-capped scores,
short pasts (it is a single kernel), and wherever no such kernel is.

Query groups are folded into rows (research/kernels.md §2.4): keys and values are never repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

_LEAST_CHUNK = 256
_MOST_CHUNKS = 16
"""The past is cut into chunks that a flash kernel takes as sequences of a batch, or few heads would leave most of a GPU
idle. Their number follows from the bucket alone, so that the order of every sum does."""

KeyValues = tuple[Tensor, Tensor]
PastKernel = Callable[[Tensor, Tensor, Tensor, Tensor, int, float], tuple[Tensor, Tensor]]
"""(queries [rows, kv_heads, dim], keys and values [slots, kv_heads, dim], length [1], slots of a chunk, scale) ->
the attention over each chunk of the first `length` slots [chunks, rows, kv_heads, dim], and its log-sum-exp, float32
[chunks, rows, kv_heads]. What it says of chunks beyond the length is not used."""


def fold(queries: Tensor, kv_heads: int) -> Tensor:
    """[rows, heads, dim] -> [rows * group, kv_heads, dim]"""
    rows, heads, dim = queries.shape
    return queries.view(rows, kv_heads, heads // kv_heads, dim).transpose(1, 2).reshape(-1, kv_heads, dim)


def unfold(mixed: Tensor, rows: int) -> Tensor:
    """[rows * group, kv_heads, dim] -> [rows, heads * dim]"""
    _, kv_heads, dim = mixed.shape
    return mixed.view(rows, -1, kv_heads, dim).transpose(1, 2).reshape(rows, -1)


def chunk_slots(slots: int) -> int:
    """Slots of a chunk of the past, for a bucket of so many."""
    return max(_LEAST_CHUNK, -(-slots // _MOST_CHUNKS))


def reference_past(
    queries: Tensor, keys: Tensor, values: Tensor, length: Tensor, chunk: int, scale: float
) -> tuple[Tensor, Tensor]:
    """`PastKernel` in plain operations, on any device: what flash kernels are held against."""
    slots, kv_heads, dim = keys.shape
    chunks = -(-slots // chunk)
    padding = (0, 0, 0, 0, 0, chunks * chunk - slots)
    # [chunks, kv_heads, slots, dim]
    keys, values = (
        nn.functional.pad(part.float(), padding).view(chunks, chunk, kv_heads, dim).transpose(1, 2)
        for part in (keys, values)
    )
    scores = torch.matmul(queries.float().transpose(0, 1) * scale, keys.transpose(2, 3))
    beyond = torch.arange(chunks * chunk, device=keys.device).view(chunks, 1, 1, chunk) >= length
    scores = scores.masked_fill(beyond, -math.inf)
    lse = torch.logsumexp(scores, dim=-1)
    weights = torch.exp(scores - lse[..., None].nan_to_num(neginf=0.0))
    return torch.matmul(weights, values).transpose(1, 2).to(queries.dtype), lse.transpose(1, 2)


def flash_past(
    queries: Tensor, keys: Tensor, values: Tensor, length: Tensor, chunk: int, scale: float
) -> tuple[Tensor, Tensor]:
    """`PastKernel` by PyTorch's FlashAttention, whose lengths lie on the device."""
    rows, slots = queries.shape[0], keys.shape[0]
    chunks = -(-slots // chunk)
    edges = torch.arange(chunks + 1, dtype=torch.int32, device=keys.device)
    read = torch.minimum(edges * chunk, length.to(torch.int32))
    mixed, lse, *_ = torch.ops.aten._flash_attention_forward(
        queries.repeat(chunks, 1, 1), keys, values, edges * rows, read, rows, chunk, 0.0, False, False, scale=scale
    )
    return mixed.view(chunks, rows, *queries.shape[1:]), lse.view(-1, chunks, rows).permute(1, 2, 0)


def flash_chain(queries: Tensor, keys: Tensor, values: Tensor, window: int, scale: float) -> Tensor:
    """Causal attention of the last rows of a sequence by PyTorch's FlashAttention, groups and windows its own.

    queries: [rows, heads, dim]; keys, values: [length, kv_heads, dim], the rows' own at the end. [rows, heads * dim]
    """
    left = {"window_size_left": window - 1, "window_size_right": 0} if window else {}
    mixed, *_ = torch.ops.aten._flash_attention_forward(
        queries[None], keys[None], values[None], None, None, len(queries), len(keys), 0.0, True, False,
        scale=scale, **left,
    )  # fmt: skip
    return mixed.reshape(len(queries), -1)


def merged(
    queries: Tensor,
    new: KeyValues,
    hidden: Tensor,
    past: tuple[Tensor, Tensor],
    unused: Tensor,
    scale: float,
) -> Tensor:
    """Attention over the past and among the rows of a step, in float32.

    A chunk of the past counts as one more key, whose score is its log-sum-exp and whose value is the attention over it:
    so one softmax does both.

    queries: folded, [group * rows, kv_heads, dim]; new: keys and values [rows, kv_heads, dim]; hidden: float32
    [group * rows, rows], -inf where a row is not seen, else 0; past: from a `PastKernel`; unused: bool [chunks], those
    beyond the length, of which kernels say what they like. Returns [group * rows, kv_heads, dim].
    """
    keys, values = new
    mixed, lse = past
    scores = torch.baddbmm(hidden, queries.float().transpose(0, 1), keys.float().permute(1, 2, 0), alpha=scale)
    chunks = lse.masked_fill(unused[:, None, None], -math.inf).permute(2, 1, 0)
    weights = torch.softmax(torch.cat([scores, chunks], dim=-1), dim=-1)
    own, of_chunks = weights.split([len(keys), len(mixed)], dim=-1)
    mixed = mixed.masked_fill(unused[:, None, None, None], 0.0).permute(2, 1, 0, 3)  # [kv_heads, rows, chunks, dim]
    result = torch.matmul(own, values.float().transpose(0, 1)) + (of_chunks[..., None] * mixed).sum(dim=2)
    return result.transpose(0, 1)


def masked(queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor, scale: float, cap: float = 0.0) -> Tensor:
    """Attention under a mask.

    queries: [rows, heads, dim]; keys, values: [slots, kv_heads, dim]; bias: from `bias_of`. [rows, heads * dim]
    """
    folded = fold(queries, keys.shape[1]).transpose(0, 1)
    keys, values = keys.transpose(0, 1), values.transpose(0, 1)
    if cap:
        scores = torch.tanh(torch.matmul(folded.float(), keys.float().transpose(1, 2)) * (scale / cap)) * cap + bias
        mixed = torch.matmul(torch.softmax(scores, dim=-1), values.float()).to(queries.dtype)
    else:
        mixed = nn.functional.scaled_dot_product_attention(
            folded[None], keys[None], values[None], attn_mask=bias[None, None], scale=scale
        )[0]
    return unfold(mixed.transpose(0, 1), len(queries))


def bias_of(seen: Tensor, group: int, dtype: torch.dtype) -> Tensor:
    """[rows * group, keys]: 0 where `seen`, bool [rows, keys], holds, else -inf; for folded queries."""
    bias = torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill_(~seen, -math.inf)
    return bias[:, None].expand(-1, group, -1).reshape(-1, seen.shape[1])


@dataclass(frozen=True, slots=True)
class Style:
    """How the layers of a model attend."""

    scale: float
    cap: float = 0.0
    past: PastKernel | None = None
    """None: masked everywhere."""
    merged_from: int = 2048
    """Slots of the least bucket whose attention is merged."""
    chain: Callable[[Tensor, Tensor, Tensor, int, float], Tensor] | None = None
    """`flash_chain`, or None: a prompt is read under a mask, too."""


class TreeAttention:
    """Attention of one step of few rows. Everything it makes is made on the device from its inputs."""

    def __init__(self, style: Style, positions: Tensor, slots: Tensor, length: Tensor, seen: Tensor) -> None:
        """positions, slots: of the rows; length [1]: of the past; seen: bool [rows, rows]."""
        self._style = style
        self._positions, self._slots, self._length, self._seen = positions, slots, length, seen
        # Made once, for all layers:
        self._biases: dict[tuple[int, int], Tensor] = {}
        self._shared: tuple[Tensor, Tensor] | None = None

    def __call__(self, queries: Tensor, new: KeyValues, stored: KeyValues, window: int) -> Tensor:
        """Store the keys and values of the rows, and attend.

        queries: [rows, heads, dim]; new: keys and values [rows, kv_heads, dim]; stored: [slots, kv_heads, dim];
        window: positions a row sees, 0: all. [rows, heads * dim]
        """
        style = self._style
        for part, buffer in zip(new, stored, strict=True):
            buffer.index_copy_(0, self._slots, part)
        keys, values = stored
        slots, group = len(keys), queries.shape[1] // keys.shape[1]
        if style.past is None or style.cap or slots < style.merged_from or 0 < window < slots:
            if (slots, window) not in self._biases:
                self._biases[slots, window] = bias_of(self._seen_slots(slots, window), group, queries.dtype)
            return masked(queries, keys, values, self._biases[slots, window], style.scale, style.cap)
        folded, chunk = fold(queries, keys.shape[1]), chunk_slots(slots)
        past = style.past(folded, keys, values, self._length, chunk, style.scale)
        if self._shared is None:
            starts = torch.arange(len(past[0]), device=keys.device) * chunk
            self._shared = bias_of(self._seen, group, torch.float32), starts >= self._length
        hidden, unused = self._shared
        return unfold(merged(folded, new, hidden, past, unused, style.scale).to(queries.dtype), len(queries))

    def _seen_slots(self, slots: int, window: int) -> Tensor:
        """bool [rows, slots]"""
        every = torch.arange(slots, device=self._slots.device)
        seen = (every < self._length).repeat(len(self._positions), 1).index_copy_(1, self._slots, self._seen)
        if 0 < window < slots:
            places = every.index_copy(0, self._slots, self._positions)
            seen &= self._positions[:, None] - places < window
        return seen


class ChainAttention:
    """Attention of a chunk of a prompt: the rows follow each other, and how many stand before them is known here."""

    def __init__(self, style: Style, length: int) -> None:
        self._style, self._length = style, length
        self._biases: dict[int, Tensor] = {}

    def __call__(self, queries: Tensor, new: KeyValues, stored: KeyValues, window: int) -> Tensor:
        """See `TreeAttention`."""
        style, end = self._style, self._length + len(queries)
        keys, values = (buffer[:end] for buffer in stored)
        for part, buffer in zip(new, (keys, values), strict=True):
            buffer[self._length :] = part
        if style.chain is not None and not style.cap:
            return style.chain(queries, keys, values, window, style.scale)
        if window not in self._biases:
            places = torch.arange(end, device=queries.device)
            distance = places[self._length :, None] - places
            seen = (distance >= 0) & (distance < (window or end))
            self._biases[window] = bias_of(seen, queries.shape[1] // keys.shape[1], queries.dtype)
        return masked(queries, keys, values, self._biases[window], style.scale, style.cap)
