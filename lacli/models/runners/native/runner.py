"""The runner over our C step: packed or plain weights used where they lie, a KV cache in numpy, one C call a forward.

Implements `base.SharingRunner`: the sequences of one `NativeModel` can share a forward. Row-exact by the promise of
`kernels/src/lacli.h`. Lives here: the cache's growth, prefill in chunks, what the library raises as our errors. May
not: read files (`load` does), know sampling, drafts or pools.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from lacli.errors import OutOfMemory
from lacli.kernels.library import TOP, Library
from lacli.kernels.structs import Cache, CacheKind, Model, Part
from lacli.models.base import Rows, Scores, nothing_to_prefill
from lacli.models.runners.fused.config import FusedConfig
from lacli.models.runners.pace import Pace
from lacli.models.runners.rotary import RotaryTable

_FIRST_CAPACITY = 512
_BEYOND = 64
"""Guessed rows may stand behind the last position of the context, so its bound on the cache is soft."""


class NativeModel:
    """What all sequences of a model share: its weights, the library, the rotary table, a place for logits."""

    def __init__(self, library: Library, config: FusedConfig, model: Model, cache: CacheKind) -> None:
        self.library = library
        self.config = config
        self._model = model
        self._cache_kind: CacheKind = cache
        self._rotary = RotaryTable(config)
        self._logits: NDArray[np.float32] = np.empty((0, config.vocab_size), dtype=np.float32)

    def new_cache(self) -> Cache:
        """An empty one."""
        return Cache(self._model, self._cache_kind)

    def run(
        self, parts: Sequence[Part], token_ids: Sequence[int], parents: Sequence[int], wanted: Sequence[int]
    ) -> Scores:
        """One forward; its parts' caches have room for it. The logits lie where the next one overwrites them."""
        self._rotary.reserve(max(part.length + part.rows for part in parts))
        if len(wanted) > len(self._logits):
            self._logits = np.empty((len(wanted), self.config.vocab_size), dtype=np.float32)
        logits = self._logits[: len(wanted)]
        top_ids, top_logits = self.library.forward(
            parts, token_ids, parents, wanted, self._rotary.cosine, self._rotary.sine, logits
        )
        kept = min(TOP, self.config.vocab_size)
        return Scores(logits, top_ids[:, :kept], top_logits[:, :kept])


class NativeRunner:
    """One sequence of a decoder of the Llama shape."""

    can_branch = True
    notes: tuple[str, ...] = ()

    def __init__(self, model: NativeModel) -> None:
        self.vocab_size = model.config.vocab_size
        self.context_size = model.config.context_size
        self.kernel = model.library.isa
        self._model = model
        self._cache = model.new_cache()
        self._pace = Pace(model.config.multiplied)
        self._length = 0

    @property
    def length(self) -> int:
        """Token positions in the KV cache."""
        return self._length

    @property
    def cache_bytes(self) -> int:
        """Bytes of the KV cache."""
        return self._cache.nbytes

    @property
    def position_bytes(self) -> int:
        """Bytes of one position in it."""
        return self._cache.slot_bytes

    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        """See `base.Runner.prefill`."""
        if not token_ids:
            raise nothing_to_prefill()
        scores, done = None, 0
        while done < len(token_ids):
            chunk = token_ids[done : done + self._pace.rows]
            rows = len(chunk)
            done += rows
            started = time.perf_counter()
            scores = self._run(chunk, range(-1, rows - 1), [rows - 1] if done == len(token_ids) else [])
            self._pace.record(rows, time.perf_counter() - started)
            self._length += rows
            if on_chunk is not None and not on_chunk(done):
                return None
        return scores

    def forward(self, rows: Rows) -> Scores:
        """See `base.Runner.forward`. The logits lie in a buffer that the next forward overwrites."""
        return self._run(rows.token_ids, rows.parents, rows.wanted)

    def keep(self, path: Sequence[int]) -> None:
        """See `base.Runner.keep`."""
        if list(path) != list(range(len(path))):
            self._model.library.keep(self._cache, self._length, path)
        self._length += len(path)

    def truncate(self, length: int) -> None:
        """See `base.Runner.truncate`."""
        self._length = min(self._length, length)

    def sibling(self) -> NativeRunner:
        """See `base.SharingRunner.sibling`."""
        return NativeRunner(self._model)

    def adopt(self, other: NativeRunner, length: int) -> None:
        """See `base.SharingRunner.adopt`."""
        with _translated():
            self._reserve(length, 0)
        self._cache.copy(other._cache, length)
        self._length = length

    def kv_bytes(self, first: int, count: int) -> bytes:
        """See `kv.store.Blocks`."""
        return self._cache.taken_out(first, count)

    def put_kv_bytes(self, first: int, count: int, data: memoryview) -> None:
        """See `kv.store.Blocks`."""
        with _translated():
            self._reserve(first + count, first)
        self._cache.put_back(first, count, data)
        self._length = first + count

    def forward_many(self, asked: Sequence[tuple[NativeRunner, Rows]]) -> list[Scores]:
        """See `base.SharingRunner.forward_many`."""
        firsts = list(accumulate((len(rows.token_ids) for _, rows in asked), initial=0))
        with _translated():
            for runner, rows in asked:
                runner._reserve(runner._length + len(rows.token_ids), runner._length)
            scores = self._model.run(
                [Part(runner._cache, runner._length, len(rows.token_ids)) for runner, rows in asked],
                [token_id for _, rows in asked for token_id in rows.token_ids],
                [
                    first + parent if parent >= 0 else parent
                    for first, (_, rows) in zip(firsts, asked, strict=False)
                    for parent in rows.parents
                ],
                [first + row for first, (_, rows) in zip(firsts, asked, strict=False) for row in rows.wanted],
            )
        ends = accumulate((len(rows.wanted) for _, rows in asked), initial=0)
        return [
            Scores(scores.logits[start:end], scores.top_ids[start:end], scores.top_logits[start:end])
            for start, end in pairwise(ends)
        ]

    def _run(self, token_ids: Sequence[int], parents: Sequence[int], wanted: Sequence[int]) -> Scores:
        with _translated():
            self._reserve(self._length + len(token_ids), self._length)
            return self._model.run([Part(self._cache, self._length, len(token_ids))], token_ids, parents, wanted)

    def _reserve(self, needed: int, filled: int) -> None:
        wish = min(max(2 * self._cache.capacity, _FIRST_CAPACITY), self.context_size + _BEYOND)
        self._cache.reserve(needed, filled, wish)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise OutOfMemory(
            "there is no memory left for a forward pass", "use a smaller model, or a shorter context"
        ) from error
