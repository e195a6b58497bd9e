"""What tests of the fused runners need of both: PyTorch's kernels and our own behind the same questions."""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor

from lacli.kernels.library import Library, library, why_not
from lacli.kernels.structs import SLOTS
from lacli.models.base import Scores
from lacli.models.runners.fused.runner import FusedRunner
from lacli.models.runners.native.runner import NativeRunner

KERNELS = ("native", "torch")
Fused = FusedRunner | NativeRunner


def choose(kernel: str, patch: pytest.MonkeyPatch) -> None:
    """Load models with these kernels from now on."""
    if kernel == "torch":
        for module in ("load", "generic.exact", "generic.runner"):
            patch.setattr(f"lacli.models.runners.{module}.library", lambda: None)
    else:
        needed()


def needed() -> Library:
    """The library; the test is skipped without one, and fails where one must be."""
    found = library()
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why_not())
    return found


def set_threads(runner: object, count: int) -> None:
    """How many threads compute from now on."""
    torch.set_num_threads(count)
    found = library()
    if isinstance(runner, NativeRunner) and found is not None:
        found.set_threads(count)


def stored(runner: Fused, first: int, last: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Copies of the keys and values of these positions, [layers, kv_heads, positions, head_dim]."""
    cache = runner._cache
    if isinstance(runner, FusedRunner):
        return cache._keys[:, :, first:last].clone(), cache._values[:, :, first:last].clone()  # type: ignore[union-attr]
    keys = torch.from_numpy(cache.keys).transpose(3, 4).flatten(2, 3)  # type: ignore[union-attr]
    return keys[:, :, first:last].clone(), torch.from_numpy(cache.values[:, :, first:last].copy())  # type: ignore[union-attr]


def repeat(runner: Fused, length: int, count: int) -> None:
    """Make the first `count` positions the ones after `length`, too."""
    keys, values = stored(runner, 0, count)
    if isinstance(runner, FusedRunner):
        runner._cache.reserve(count)
        runner._cache._keys[:, :, length : length + count] = keys
        runner._cache._values[:, :, length : length + count] = values
        runner._cache.extend(count)
        return
    cache = runner._cache
    cache.reserve(length + count, length, 2 * cache.capacity)
    for slot in range(length, length + count):
        cache.keys[:, :, slot // SLOTS, :, slot % SLOTS] = keys[:, :, slot - length].numpy()
    cache.values[:, :, length : length + count] = values.numpy()
    runner._length = length + count


def logits_of(scores: Scores) -> Tensor:
    """The logits of a forward, which our C kernels give as an array of numpy."""
    return torch.as_tensor(scores.logits)
