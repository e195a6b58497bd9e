"""Attention of the forward for devices: merged and masked, its windows, and the calls of flash kernels."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from lacli.models.base import Rows
from lacli.models.runners.fused.device import attention
from lacli.models.runners.fused.device.attention import ChainAttention, Style, TreeAttention, reference_past
from lacli.models.runners.fused.device.buckets import ROWS
from lacli.models.runners.fused.device.inputs import StepInputs
from lacli.models.runners.fused.device.kv import KvCache
from tests.models.device import CPU, tree_of

pytestmark = pytest.mark.usefixtures("one_thread")

HEADS, KV_HEADS, DIM, SLOTS = 6, 2, 8, 600


def plain(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor, scale: float) -> Tensor:
    """Attention written down once more, in float64, a head at a time."""
    rows, heads, dim = queries.shape
    group = heads // keys.shape[1]
    result = torch.empty(rows, heads, dim, dtype=torch.float64)
    for head in range(heads):
        scores = queries[:, head].double() @ keys[:, head // group].double().T * scale
        weights = torch.softmax(scores.masked_fill(~seen, -math.inf), dim=1)
        result[:, head] = weights @ values[:, head // group].double()
    return result.reshape(rows, heads * dim)


def step(rows: Rows, length: int, style: Style, window: int) -> tuple[Tensor, Tensor]:
    """A step's attention over random keys, and what it should be."""
    generator = torch.Generator().manual_seed(length)
    count = len(rows.token_ids)
    inputs = StepInputs(count, 1, CPU)
    inputs.fill(Rows(rows.token_ids, rows.parents, (0,)), length)
    stored = tuple(torch.randn(SLOTS, KV_HEADS, DIM, generator=generator) for _ in range(2))
    queries = torch.randn(count, HEADS, DIM, generator=generator)
    new = tuple(torch.randn(count, KV_HEADS, DIM, generator=generator) for _ in range(2))
    own = TreeAttention(style, inputs.positions(), inputs.slots(), inputs.length, inputs.seen())
    found = own(queries, new, stored, window)  # type: ignore[arg-type]
    places = [*range(length), *(length + depth for depth in rows.depths())]
    seen = torch.zeros(count, length + count, dtype=torch.bool)
    for row in range(count):
        ancestor = row
        seen[row, :length] = True
        while ancestor >= 0:
            seen[row, length + ancestor] = True
            ancestor = rows.parents[ancestor]
        if window:
            seen[row] &= torch.tensor([length + rows.depths()[row] - place < window for place in places])
    keys, values = (torch.cat([old[:length], fresh]) for old, fresh in zip(stored, new, strict=True))
    return found, plain(queries, keys, values, seen, style.scale)


def stock_past(
    queries: Tensor, keys: Tensor, values: Tensor, length: Tensor, chunk: int, scale: float
) -> tuple[Tensor, Tensor]:
    """`PastKernel` by PyTorch's own flash kernel for CPUs, a chunk a call; chunks beyond the length hold rubbish, as
    kernels leave there what they like."""
    mixed, lse = [], []
    for start in range(0, keys.shape[0], chunk):
        end = min(start + chunk, int(length))
        if end <= start:
            mixed.append(torch.full_like(queries, math.nan))
            lse.append(torch.full(queries.shape[:2], math.inf))
            continue
        heads = [part.transpose(0, 1)[None] for part in (queries, keys[start:end], values[start:end])]
        out, log = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*heads, scale=scale)
        mixed.append(out[0].transpose(0, 1))
        lse.append(log[0].transpose(0, 1) if log.shape[1] == queries.shape[1] else log[0])
    return torch.stack(mixed), torch.stack(lse)


class TestAttention:
    @pytest.mark.parametrize("length", [0, 1, 255, 256, 257, 500])
    @pytest.mark.parametrize("count", [1, 5, 33])
    @pytest.mark.parametrize("past", [None, reference_past, stock_past])
    def test_a_tree_sees_its_past_and_its_ancestors(self, past: Any, count: int, length: int) -> None:
        found, expected = step(tree_of(count, seed=length), length, Style(0.3, past=past, merged_from=0), 0)
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=2e-6)

    @pytest.mark.parametrize("window", [1, 4, 100])
    @pytest.mark.parametrize("length", [0, 3, 99, 300])
    def test_a_window_goes_by_positions(self, window: int, length: int) -> None:
        found, expected = step(tree_of(9, seed=2), length, Style(0.3, past=reference_past, merged_from=0), window)
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=2e-6)

    @pytest.mark.parametrize("window", [0, 7])
    def test_a_chunk_of_a_prompt_is_causal(self, window: int) -> None:
        queries = torch.randn(20, HEADS, DIM)
        stored = tuple(torch.randn(SLOTS, KV_HEADS, DIM) for _ in range(2))
        new = tuple(torch.randn(20, KV_HEADS, DIM) for _ in range(2))
        found = ChainAttention(Style(0.3), 50)(queries, new, stored, window)  # type: ignore[arg-type]
        assert all(torch.equal(buffer[50:70], part) for buffer, part in zip(stored, new, strict=True))
        distance = torch.arange(50, 70)[:, None] - torch.arange(70)
        seen = (distance >= 0) & (distance < (window or 100))
        expected = plain(queries, stored[0][:70], stored[1][:70], seen, 0.3)
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=2e-6)

    def test_a_prompt_goes_to_the_flash_kernel_with_its_window(self) -> None:
        seen: list[tuple[int, int, int]] = []

        def chain(queries: Tensor, keys: Tensor, values: Tensor, window: int, scale: float) -> Tensor:
            seen.append((len(queries), len(keys), window))
            return queries.reshape(len(queries), -1)

        stored = tuple(torch.zeros(SLOTS, KV_HEADS, DIM) for _ in range(2))
        new = tuple(torch.zeros(20, KV_HEADS, DIM) for _ in range(2))
        ChainAttention(Style(0.3, chain=chain), 50)(torch.zeros(20, HEADS, DIM), new, stored, 7)  # type: ignore[arg-type]
        assert seen == [(20, 70, 7)]


class TestFlashKernels:
    """PyTorch's kernels are not on a CPU, but their signatures and shapes are: on tensors without data."""

    def test_the_past_has_the_shape_of_the_reference(self) -> None:
        for length, chunk in ((300, 256), (700, 128)):
            shapes = []
            for kernel, device in ((attention.flash_past, "meta"), (reference_past, "cpu")):
                queries = torch.zeros(15, KV_HEADS, 64, dtype=torch.bfloat16, device=device)
                keys = torch.zeros(SLOTS, KV_HEADS, 64, dtype=torch.bfloat16, device=device)
                where = torch.tensor([length], device=device)
                shapes.append([part.shape for part in kernel(queries, keys, keys, where, chunk, 0.1)])
            assert shapes[0] == shapes[1]

    @pytest.mark.parametrize("window", [0, 7])
    def test_a_prompt_has_the_shape_of_its_rows(self, window: int) -> None:
        queries = torch.zeros(20, HEADS, 64, dtype=torch.bfloat16, device="meta")
        keys = torch.zeros(70, KV_HEADS, 64, dtype=torch.bfloat16, device="meta")
        assert attention.flash_chain(queries, keys, keys, window, 0.1).shape == (20, HEADS * 64)


def test_room_is_made_at_once_where_the_context_has_it() -> None:
    roomy = KvCache(1, 1, 2, 4000, torch.float32, CPU, first=2048)
    assert (roomy.reserve(1), roomy.keys.shape[1], roomy.moves) == (512, 2048, 1)
    assert (roomy.reserve(1500), roomy.moves) == (2048, 1)
    small = KvCache(1, 1, 2, 100, torch.float32, CPU, first=2048)
    assert (small.reserve(1), small.keys.shape[1]) == (192, 192)


def test_rows_and_their_tree_arrive_in_one_copy() -> None:
    inputs = StepInputs(64, 4, CPU)
    rows = tree_of(60, seed=4)
    inputs.fill(Rows(rows.token_ids, rows.parents, (0, 7, 9)), 100)
    assert inputs.ids[:60].tolist() == list(rows.token_ids)
    assert inputs.positions()[:60].tolist() == [100 + depth for depth in rows.depths()]
    assert inputs.slots().tolist() == list(range(100, 164))
    assert inputs.wanted.tolist() == [0, 7, 9, 0]
    seen = inputs.seen()
    for row in range(64):
        line = []
        ancestor = row
        while ancestor >= 0:
            line.append(ancestor)
            ancestor = rows.parents[ancestor] if ancestor < 60 else -1
        assert seen[row].nonzero().flatten().tolist() == sorted(line)
    assert ROWS[-1] == 64  # a mask is one number of 64 bits
