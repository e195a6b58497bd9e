"""Steps of one shape replayed as a CUDA graph: hundreds of launches become one. Without CUDA the same steps are called.

What a step reads and writes must lie at fixed places; whoever moves them calls `clear`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol

import torch
from torch import Tensor

Step = Callable[[], tuple[Tensor, ...]]


class Replays(Protocol):
    """Runs steps, each known by its shape."""

    def run(self, shape: Hashable, step: Step) -> tuple[Tensor, ...]:
        """What `step` returns, good until the next run."""
        ...

    def clear(self) -> None:
        """Forget all shapes: some buffer has moved."""
        ...


class Calls:
    """Every step is called: where there are no graphs, or a model is spread over devices."""

    def run(self, shape: Hashable, step: Step) -> tuple[Tensor, ...]:
        """See `Replays`."""
        return step()

    def clear(self) -> None:
        """See `Replays`."""


Capture = Callable[[Step], tuple[Callable[[], object], tuple[Tensor, ...]]]
"""Records a step: what replays it, and where its results then lie."""


class CudaGraphs:
    """Captures the first step of each shape and replays it from then on.

    Where a device captures at all, a shape that it has no memory left to capture is called.
    """

    def __init__(self, capture: Capture | None = None) -> None:
        """capture: another one than CUDA's, for tests."""
        self._capture = capture or CudaCapture()
        self._known: dict[Hashable, tuple[Callable[[], object], tuple[Tensor, ...]] | None] = {}
        self._captures = False

    def run(self, shape: Hashable, step: Step) -> tuple[Tensor, ...]:
        """See `Replays`."""
        if shape not in self._known:
            self._known[shape] = self._captured(step)
        found = self._known[shape]
        if found is None:
            return step()
        replay, results = found
        replay()
        return results

    def _captured(self, step: Step) -> tuple[Callable[[], object], tuple[Tensor, ...]] | None:
        try:
            found = self._capture(step)
        except RuntimeError:  # CUDA's own, and out of memory
            if not self._captures:
                raise
            return None
        self._captures = True
        return found

    def clear(self) -> None:
        """See `Replays`."""
        self._known.clear()


class CudaCapture:
    """CUDA's own, with one memory pool for all graphs: they never run at the same time."""

    _WARM_UPS = 2
    """Libraries allocate workspaces and choose kernels in their first calls, which cannot be recorded."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Step) -> tuple[Callable[[], object], tuple[Tensor, ...]]:
        """See `Capture`. A step may be run more than once here: it writes the same K and V to the same slots."""
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            for _ in range(self._WARM_UPS):
                step()
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        # Other threads may use the device meanwhile.
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            results = step()
        return graph.replay, results
