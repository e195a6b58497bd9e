"""The runner over our C step: packed or plain weights used where they lie, a KV cache in numpy, one C call a forward.

Implements `base.Runner`. Row-exact by the promise of `kernels/src/lacli.h`. Lives here: the cache's growth, prefill in
chunks, what the library raises as our errors. May not: read files (`load` does), know sampling, drafts or pools.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from lacli.errors import LacliError, OutOfMemory
from lacli.kernels.library import TOP, Library
from lacli.kernels.structs import Cache, CacheKind, Model
from lacli.models.base import Rows, Scores
from lacli.models.fused_config import FusedConfig
from lacli.models.rotary import RotaryTable

PREFILL_CHUNK = 64
"""Rows of a prefill forward: enough to be busy computing, few enough to be cancelled soon."""
_FIRST_CAPACITY = 512
_BEYOND = 64
"""Guessed rows may stand behind the last position of the context, so its bound on the cache is soft."""


class NativeRunner:
    """A decoder of the Llama shape with one sequence in its cache."""

    can_branch = True
    notes: tuple[str, ...] = ()

    def __init__(self, library: Library, config: FusedConfig, model: Model, cache: CacheKind) -> None:
        self.vocab_size = config.vocab_size
        self.context_size = config.context_size
        self.kernel = library.isa
        self._library = library
        self._cache = Cache(model, cache)
        self._rotary = RotaryTable(config)
        self._length = 0
        self._logits: NDArray[np.float32] = np.empty((0, config.vocab_size), dtype=np.float32)

    @property
    def length(self) -> int:
        """Token positions in the KV cache."""
        return self._length

    @property
    def cache_bytes(self) -> int:
        """Bytes of the KV cache."""
        return self._cache.nbytes

    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        """See `base.Runner.prefill`."""
        if not token_ids:
            raise LacliError("there is nothing to prefill", "give a prompt of at least one token")
        scores = None
        for start in range(0, len(token_ids), PREFILL_CHUNK):
            chunk = token_ids[start : start + PREFILL_CHUNK]
            rows, last = len(chunk), start + len(chunk) == len(token_ids)
            scores = self._run(chunk, range(-1, rows - 1), [rows - 1] if last else [])
            self._length += rows
            if on_chunk is not None and not on_chunk(start + rows):
                return None
        return scores

    def forward(self, rows: Rows) -> Scores:
        """See `base.Runner.forward`. The logits lie in a buffer that the next forward overwrites."""
        return self._run(rows.token_ids, rows.parents, rows.wanted)

    def keep(self, path: Sequence[int]) -> None:
        """See `base.Runner.keep`."""
        if list(path) != list(range(len(path))):
            self._library.keep(self._cache, self._length, path)
        self._length += len(path)

    def truncate(self, length: int) -> None:
        """See `base.Runner.truncate`."""
        self._length = min(self._length, length)

    def _run(self, token_ids: Sequence[int], parents: Sequence[int], wanted: Sequence[int]) -> Scores:
        with _translated():
            needed = self._length + len(token_ids)
            self._cache.reserve(
                needed,
                self._length,
                min(max(2 * self._cache.capacity, _FIRST_CAPACITY), self.context_size + _BEYOND),
            )
            self._rotary.reserve(needed)
            if len(wanted) > len(self._logits):
                self._logits = np.empty((len(wanted), self.vocab_size), dtype=np.float32)
            logits = self._logits[: len(wanted)]
            top_ids, top_logits = self._library.forward(
                self._cache,
                self._length,
                token_ids,
                parents,
                wanted,
                self._rotary.cosine,
                self._rotary.sine,
                logits,
            )
        kept = min(TOP, self.vocab_size)
        return Scores(torch.from_numpy(logits), top_ids[:, :kept], top_logits[:, :kept])


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise OutOfMemory(
            "there is no memory left for a forward pass", "use a smaller model, or a shorter context"
        ) from error
