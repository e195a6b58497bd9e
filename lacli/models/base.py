"""What the engine sees of models: `Rows` in, `Scores` out. Imports nothing heavy at run time.

Implementations are in `runners`: `native.NativeRunner`, which is a `SharingRunner`, `fused.FusedRunner`,
`fused.device.DeviceRunner`, which is a `BucketedRunner`, and `generic.GenericRunner`; the test double is `TableRunner`
in `tests/fakes.py`. An implementation must never look at the sampler, the drafts or the pool, and a failed forward must
leave `length` as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

from lacli.errors import LacliError

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

Quant = Literal["int4", "int8", "none", "nf4", "bnb-int8"]
"""How weights run. int4 and int8: blocks of 32 on a CPU; none: float32 on a CPU; nf4 and bnb-int8: bitsandbytes."""

TOP = 8
"""Best tokens of a row that `Scores` knows."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What a forward says of its wanted rows."""

    logits: np.ndarray | Tensor
    """float32 (float64 where the model computes in that) [rows, vocab]; good until the next forward. In numpy from our
    C kernels, in PyTorch from the runners that compute in it."""
    top_ids: np.ndarray
    """int32 [rows, min(TOP, vocab)]: the likeliest tokens, best first, the lower id first on a tie."""
    top_logits: np.ndarray
    """float32, their logits; [row, 0] is NaN where any logit of the row is."""

    def __len__(self) -> int:
        return len(self.top_ids)

    @property
    def on_device(self) -> bool:
        """Whether the logits lie where reading a row of them is a copy of the whole vocabulary."""
        return bool(getattr(self.logits, "is_cuda", False))

    def weights(self, index: int, temperature: float, share: float) -> tuple[np.ndarray, np.ndarray, float]:
        """For drawing from one row, computed where its logits lie; they must be torch's.

        Of the tokens with at least `share` of all weight: their ids, ascending, and float64 weights
        exp((logit - best) / temperature); and the sum of the weights of all tokens.
        """
        logits: Any = self.logits[index]
        weights = ((logits.double() - logits.max()) / temperature).exp()
        total = weights.sum()
        ids = (weights >= share * total).nonzero().flatten()
        return ids.cpu().numpy(), weights[ids].cpu().numpy(), float(total)

    def row(self, index: int) -> np.ndarray:
        """The logits of one row [vocab], on the CPU."""
        logits: Any = self.logits[index]
        return logits.cpu().numpy() if hasattr(logits, "cpu") else logits


def not_finite() -> LacliError:
    """What to raise where the best logit of a row is no finite number."""
    return LacliError("the model gave logits that are not finite", "the weights may be damaged; try --quant none")


def nothing_to_prefill() -> LacliError:
    """What a `prefill` of no tokens raises."""
    return LacliError("there is nothing to prefill", "give a prompt of at least one token")


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one forward: a tree of guessed tokens below the last emitted one."""

    token_ids: tuple[int, ...]
    """Token of each row; row 0 is the last emitted token, whose KV row is not in the cache yet."""
    parents: tuple[int, ...]
    """Parent row of each row, always smaller than the row itself; -1 for row 0. Mask and positions follow from it:
    a row sees the whole cache, its ancestors and itself, and sits at position `length + depth`."""
    wanted: tuple[int, ...]
    """Rows whose scores are returned, ascending, row 0 always among them."""

    def depths(self) -> list[int]:
        """Depth of each row; row 0 has depth 0."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return depths


class Runner(Protocol):
    """A loaded model with one sequence in its KV cache."""

    vocab_size: int
    """Rows of the output head; ids outside are never sampled and never fed."""
    context_size: int
    """Most positions the model may see; `length` never exceeds it."""
    can_branch: bool
    """False for models whose cache cannot hold siblings (recurrent, hybrid): the engine then decodes plainly."""
    kernel: str
    """What multiplies: an instruction set of our C kernels ("avx2", "neon-dot", ...), or "torch"."""
    notes: tuple[str, ...]
    """What the user should know of how this model runs, a line each."""

    @property
    def length(self) -> int:
        """Token positions in the KV cache."""
        ...

    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        """Append `token_ids` in chunks; return the scores of the last one, a single row.

        `on_chunk(done)` is called after each chunk with the number of tokens done; when it returns False the prefill
        stops there (what is done stays in the cache) and None is returned.
        """
        ...

    def forward(self, rows: Rows) -> Scores:
        """Run all rows at once; return the scores of the wanted ones, in their order. `length` does not change."""
        ...

    def keep(self, path: Sequence[int]) -> None:
        """Commit the KV of these rows of the last forward, a path from row 0 down; `length` grows by `len(path)`."""
        ...

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on."""
        ...


@runtime_checkable
class BucketedRunner(Runner, Protocol):
    """A runner whose forwards come in a few shapes, filled up where rows are missing."""

    row_buckets: tuple[int, ...]
    """Rows of those shapes, ascending: a step costs what the smallest one that holds it does. None has more rows."""
    chains_only: bool
    """Whether rows keep their bits only in chains, each row below the one before it."""


@runtime_checkable
class SharingRunner(Runner, Protocol):
    """A runner whose model can hold several sequences, and run rows of many of them in one forward."""

    @property
    def cache_bytes(self) -> int:
        """Bytes of the KV cache as it stands."""
        ...

    @property
    def position_bytes(self) -> int:
        """Bytes of one position in it."""
        ...

    def sibling(self) -> Self:
        """Another sequence of the same model, with an empty cache of its own."""
        ...

    def adopt(self, other: Self, length: int) -> None:
        """Make the cache hold the first `length` positions of a sibling's, and nothing else."""
        ...

    def forward_many(self, asked: Sequence[tuple[Self, Rows]]) -> list[Scores]:
        """`forward` of several siblings at once, each with rows of its own; the scores of each, in the same order.

        A prefill may be among them: its rows are a chain of which none, or the last, is wanted.
        """
        ...
