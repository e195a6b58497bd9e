"""bitsandbytes' quantisation to 4 and 8 bits, for weights that arrive in pieces; does not need bitsandbytes.

The bytes equal those of its CPU code except for nested scales: bitsandbytes looks up a scale's byte in a table of
65,536 steps, here it is the nearest code, as on CUDA. The codes are those of QLoRA (arXiv 2305.14314, §3) and of 8-bit
optimisers (arXiv 2110.02861, §2.2). Pure torch arithmetic.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

_BLOCK, _NESTED = 64, 256
CODE = torch.tensor(
    [
        -1.0,
        -0.6961928009986877,
        -0.5250730514526367,
        -0.39491748809814453,
        -0.28444138169288635,
        -0.18477343022823334,
        -0.09105003625154495,
        0.0,
        0.07958029955625534,
        0.16093020141124725,
        0.24611230194568634,
        0.33791524171829224,
        0.44070982933044434,
        0.5626170039176941,
        0.7229568362236023,
        1.0,
    ]
)
"""What the 16 codes of NF4 stand for."""
_BOUNDS = (CODE[:-1] + CODE[1:]) / 2
_LEAST = 1e-38
_CACHED = 1 << 15  # few enough that PyTorch does not use several threads, which would cost more than it saves


def nf4_codes(values: Tensor) -> tuple[Tensor, Tensor]:
    """float32 [n] to packed codes, uint8 [ceil(n / 2), 1], and the largest magnitude of each 64, float32."""
    whole = values.numel() // _BLOCK * _BLOCK
    blocks = values[:whole].reshape(-1, _BLOCK)
    maxima = blocks.abs().amax(dim=1)
    scaled = (blocks * (1.0 / maxima.clamp(min=_LEAST))[:, None]).clamp(-1, 1).reshape(-1)
    if whole < values.numel():
        last = values[whole:].abs().max().clamp(min=_LEAST)
        maxima = torch.cat([maxima, last[None]])
        scaled = torch.cat([scaled, (values[whole:] / last).clamp(-1, 1)])
    codes = _nearest(scaled)
    if codes.numel() % 2:  # the half of the last byte that nobody reads: what a weight of 0 has
        codes = torch.nn.functional.pad(codes, (0, 1), value=7)
    return ((codes[::2] << 4) | codes[1::2])[:, None], maxima


def _nearest(scaled: Tensor) -> Tensor:
    """The code of each value: the number of bounds below it. 15 comparisons within the CPU cache beat a search."""
    codes = torch.zeros(scaled.numel(), dtype=torch.uint8)
    for values, counts in zip(scaled.split(_CACHED), codes.split(_CACHED), strict=True):
        for bound in _BOUNDS.tolist():
            counts += values > bound
    return codes


def nested_scales(maxima: Tensor) -> tuple[Tensor, Tensor, float]:
    """float32 [B] to bytes [B] of `scale_code`, their scales [ceil(B / 256)], and what is added to each."""
    offset = maxima.mean()
    rest = maxima - offset
    padded = torch.nn.functional.pad(rest, (0, -rest.numel() % _NESTED)).reshape(-1, _NESTED)
    scales = padded.abs().amax(dim=1)
    scaled = (padded * (1.0 / scales.clamp(min=_LEAST))[:, None]).reshape(-1)[: rest.numel()]
    code = scale_code()
    below = (torch.bucketize(scaled, code, right=True) - 1).clamp(0, len(code) - 2)
    nearer_above = (code[below + 1] - scaled).abs() < (scaled - code[below]).abs()
    return (below + nearer_above).to(torch.uint8), scales, offset.item()


def int8_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """float32 [N, K] to int8 of the same shape and the largest magnitude of each row, as float16 holds both."""
    half = weight.to(torch.float16)
    maxima = half.abs().amax(dim=1).to(torch.float32)
    scaled = half * (127.0 / maxima.clamp(min=_LEAST))[:, None]
    return torch.round(scaled).to(torch.int8), maxima


@cache
def scale_code() -> Tensor:
    """The 256 ascending values of the dynamic 8-bit code: 7 decades, each with twice the steps of the one below."""
    positive = []
    for decade in range(7):
        edges = torch.linspace(0.1, 1, 2**decade + 1, dtype=torch.float32)
        positive.append((edges[:-1] + edges[1:]) / 2.0 * 10 ** (decade - 6))
    values = torch.cat(positive)
    return torch.cat([values, -values, torch.tensor([0.0, 1.0])]).sort().values
