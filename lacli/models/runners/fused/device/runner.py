"""The runner over the forward for devices: pads steps to buckets, prefills prompts in chunks, commits rows.

Implements `base.BucketedRunner`. Knows nothing of files (see `load`), sampling, drafts or pools. Equals other runners
up to the rounding of its kernels. With `Shapes.strict` every forward has the same shape, so that a row of a chain has
the same bits whatever the chain's length.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from lacli.errors import LacliError, OutOfMemory
from lacli.models.base import Rows, Scores, nothing_to_prefill
from lacli.models.runners.fused.device.attention import ChainAttention, Style, TreeAttention
from lacli.models.runners.fused.device.buckets import ROWS, bucket_of
from lacli.models.runners.fused.device.graphs import Replays
from lacli.models.runners.fused.device.inputs import StepInputs
from lacli.models.runners.fused.device.kv import KvCache
from lacli.models.runners.fused.device.step import StepModel
from lacli.models.runners.scores import looked_at, scores_from

STRICT_ROWS = ROWS[-1]
_FIRST_SLOTS = 2048
"""Initial capacity of the KV cache on CUDA, in positions: when its buffers move, graphs must be captured again."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """Which shapes forwards come in."""

    chunk: int = 512
    """Rows of a chunk of a prompt."""
    rows: tuple[int, ...] = ROWS
    slots: int = 0
    """The only KV bucket; 0: as the sequence grows."""

    @staticmethod
    def strict(context_size: int) -> Shapes:
        """One shape for all of them."""
        return Shapes(chunk=STRICT_ROWS, rows=(STRICT_ROWS,), slots=context_size + STRICT_ROWS)


class DeviceRunner:
    """One sequence of a model on a device."""

    can_branch = True
    kernel = "torch"

    def __init__(
        self, model: StepModel, style: Style, replays: Replays, shapes: Shapes, notes: tuple[str, ...] = ()
    ) -> None:
        sizes = model.config.sizes
        self.vocab_size, self.context_size = sizes.vocab_size, sizes.context_size
        self.row_buckets = shapes.rows
        self.chains_only = bool(shapes.slots)
        self.notes = notes
        self.style, self.replays = style, replays
        self._model, self._shapes = model, shapes
        self._inputs: dict[tuple[int, int], StepInputs] = {}
        self._token_ids: list[int] = []
        # longrope: past the switch all keys of a sequence are rotated differently, so they have a cache of their own.
        caches = 2 if model.config.switch else 1
        first = _FIRST_SLOTS if model.device.type == "cuda" else 0
        self._caches = [
            KvCache(sizes.layers, sizes.kv_heads, sizes.head_dim, sizes.context_size, model.dtype, model.device, first)
            for _ in range(caches)
        ]
        self._rows = Rows((), (), ())
        self._ran: list[tuple[KvCache, dict[int, int]]] = []
        """The caches of the last forward, each with the row numbers of the forward mapped to its own."""

    @property
    def length(self) -> int:
        """Token positions in the KV cache."""
        return len(self._token_ids)

    @property
    def cache_bytes(self) -> int:
        """Bytes of the KV cache."""
        return sum(cache.nbytes for cache in self._caches)

    @torch.inference_mode()
    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        """See `base.Runner.prefill`."""
        if not token_ids:
            raise nothing_to_prefill()
        start, sequence = self.length, [*self._token_ids, *token_ids]
        beyond = self._beyond(len(sequence))
        cache, scores = self._caches[beyond], None
        with _translated():
            while cache.length < len(sequence):
                scores = self._read(cache, sequence, beyond)
                self._token_ids += sequence[self.length : cache.length]
                if on_chunk is not None and not on_chunk(max(cache.length - start, 0)):
                    return None
        return scores

    @torch.inference_mode()
    def forward(self, rows: Rows) -> Scores:
        """See `base.Runner.forward`; at most as many rows as the last bucket has."""
        count = len(rows.token_ids)
        self._rows, self._ran = rows, []
        sides = [self._beyond(self.length + depth + 1) for depth in rows.depths()]
        found: dict[int, Scores] = {}
        with _translated():
            for beyond in sorted(set(sides)):
                # Rows past the switch need ancestors with the same rotation, so those are computed again with them.
                chosen = [row for row in range(count) if sides[row] <= beyond]
                cache = self._caches[beyond]
                while cache.length < self.length:
                    self._read(cache, self._token_ids, beyond)
                wanted = [row for row in rows.wanted if sides[row] == beyond]
                places = {row: place for place, row in enumerate(chosen)}
                part = Rows(
                    tuple(rows.token_ids[row] for row in chosen),
                    tuple(places.get(rows.parents[row], -1) for row in chosen),
                    tuple(places[row] for row in wanted) or (0,),
                )
                scores = self._step(cache, part, bool(beyond))
                # The next replay may write over these: graphs share their memory.
                found[beyond] = (
                    replace(scores, logits=torch.as_tensor(scores.logits).clone()) if beyond < max(sides) else scores
                )
                self._ran.append((cache, places))
        return found[sides[0]] if len(found) == 1 else _joined([found[side] for side in sorted(found)], rows, sides)

    @torch.inference_mode()
    def keep(self, path: Sequence[int]) -> None:
        """See `base.Runner.keep`."""
        for cache, places in self._ran:
            cache.keep([places[row] for row in path if row in places])
        self._ran = []
        self._token_ids += [self._rows.token_ids[row] for row in path]

    def truncate(self, length: int) -> None:
        """See `base.Runner.truncate`."""
        self._ran = []
        del self._token_ids[length:]
        for cache in self._caches:
            cache.truncate(length)

    def use(self, *, style: Style | None = None, replays: Replays | None = None) -> None:
        """Switch to other kernels or replays; the loader does this if the preferred ones do not run."""
        self.style = style or self.style
        self.replays = replays or self.replays
        self.replays.clear()

    def _beyond(self, length: int) -> int:
        """1 for a sequence longer than the longrope switch, else 0."""
        return int(0 < self._model.config.switch < length)

    def _read(self, cache: KvCache, sequence: Sequence[int], beyond: int) -> Scores:
        """Append the next chunk of `sequence`, from now on a smaller one where memory has no room for it; the scores of
        its last row."""
        while True:
            try:
                return self._read_chunk(cache, sequence, beyond)
            except torch.OutOfMemoryError:
                if self._shapes.chunk <= self._shapes.rows[-1]:
                    raise
                self._shapes = replace(self._shapes, chunk=self._shapes.chunk // 2)

    def _read_chunk(self, cache: KvCache, sequence: Sequence[int], beyond: int) -> Scores:
        chunk = sequence[cache.length : cache.length + self._shapes.chunk]
        count = len(chunk)
        if count <= self._shapes.rows[-1]:
            scores = self._step(cache, Rows(tuple(chunk), tuple(range(-1, count - 1)), (count - 1,)), bool(beyond))
        else:
            self._reserve(cache, count)
            device = self._model.device
            ids = torch.tensor(chunk, device=device)
            logits = self._model.logits(
                ids,
                torch.arange(cache.length, cache.length + count, device=device),
                torch.tensor([count - 1], device=device),
                ChainAttention(self.style, cache.length),
                (cache.keys, cache.values),
                bool(beyond),
            )
            scores = self._scores(logits, looked_at(logits), cache)
        cache.keep(range(count))
        return scores

    def _reserve(self, cache: KvCache, rows: int) -> int:
        """Make room for `rows` more positions; returns the bucket of slots that a step reads."""
        moves = cache.moves
        try:
            return cache.reserve(max(rows, self._shapes.slots - cache.length))
        finally:
            if cache.moves != moves:
                self.replays.clear()

    def _step(self, cache: KvCache, rows: Rows, beyond: bool) -> Scores:
        """A forward of few rows, padded to its bucket."""
        size = bucket_of(len(rows.token_ids), self._shapes.rows)
        assert len(rows.token_ids) <= size, "a step has no more rows than the last bucket"
        head = min(size, bucket_of(len(rows.wanted), ROWS)) if not self.chains_only else size
        slots = self._reserve(cache, size)
        inputs = self._inputs.get((size, head))
        if inputs is None:
            inputs = self._inputs[size, head] = StepInputs(size, head, self._model.device)
        inputs.fill(rows, cache.length)
        logits, best = self.replays.run(
            (size, head, slots, beyond), lambda: self._captured(inputs, cache, slots, beyond)
        )
        count = len(rows.wanted)
        return self._scores(logits[:count], best[:, :count], cache)

    def _captured(self, inputs: StepInputs, cache: KvCache, slots: int, beyond: bool) -> tuple[Tensor, Tensor]:
        """What a CUDA graph records: no synchronisation, and no shape that depends on device data."""
        positions = inputs.positions()
        attention = TreeAttention(self.style, positions, inputs.slots(), inputs.length, inputs.seen())
        stored = (cache.keys[:, :slots], cache.values[:, :slots])
        logits = self._model.logits(inputs.ids, positions, inputs.wanted, attention, stored, beyond)
        return logits, looked_at(logits)

    def _scores(self, logits: Tensor, best: Tensor, cache: KvCache) -> Scores:
        """Fetch the best logits and ids: one small copy, which synchronises with the device."""
        scores = scores_from(logits, best)
        if not np.isfinite(scores.top_logits[:, 0]).all():
            cache.wipe()
        return scores


def _joined(parts: Sequence[Scores], rows: Rows, sides: Sequence[int]) -> Scores:
    """Merge the scores from both sides of the longrope switch, in the order of `rows.wanted`."""
    order: list[list[int]] = [[], []]
    for place, row in enumerate(rows.wanted):
        order[sides[row]].append(place)
    back = np.argsort(order[0] + order[1])
    kept = [len(places) for places in order]
    cut = [
        replace(part, logits=part.logits[:count], top_ids=part.top_ids[:count], top_logits=part.top_logits[:count])
        for part, count in zip(parts, kept, strict=True)
    ]
    logits = torch.cat([part.logits for part in cut])  # type: ignore[misc]
    return Scores(
        logits[torch.from_numpy(back).to(logits.device)],
        np.concatenate([part.top_ids for part in cut])[back],
        np.concatenate([part.top_logits for part in cut])[back],
    )


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemory(
            "the device ran out of memory in a forward pass", "use a smaller model or context, or another --quant"
        ) from error
    except RuntimeError as error:
        first_line = str(error).strip().split("\n")[0]
        raise LacliError(
            f"the forward pass failed on the device: {first_line}", "try again, or --device cpu"
        ) from error
