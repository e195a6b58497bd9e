"""What a stock transformers model remembers of the sequence: our cache layers, and the plain cache of recurrent models.

The models see a transformers `Cache`; the runner sees a `Past`: how many tokens of the sequence are in it, and the
verbs to commit and forget. Windows are no business of this file: every position is stored, masks hide the old ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicCache

from lacli.errors import LacliError

_FIRST_CAPACITY = 256


class BranchLayer(CacheLayerMixin):
    """K and V of one layer in buffers that grow by doubling; the rows of the last forward lie behind the kept ones."""

    is_sliding = False

    def __init__(self) -> None:
        super().__init__()
        self.length = 0
        """Kept positions."""
        self.pending = 0
        """Rows of the running or last forward, behind the kept positions."""
        self._key_buffer: Tensor
        self._value_buffer: Tensor

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """"""
        self._key_buffer = key_states.new_empty(*key_states.shape[:2], 0, key_states.shape[3])
        self._value_buffer = value_states.new_empty(*value_states.shape[:2], 0, value_states.shape[3])
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Put the rows behind the kept positions; return all keys and values as views.

        key_states, value_states: [1, kv_heads, rows, head_dim] -> [1, kv_heads, length + rows, head_dim]
        """
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.pending = key_states.shape[2]
        end = self.length + self.pending
        self._key_buffer = self._grown(self._key_buffer, end)
        self._value_buffer = self._grown(self._value_buffer, end)
        self._key_buffer[:, :, self.length : end] = key_states
        self._value_buffer[:, :, self.length : end] = value_states
        self.keys, self.values = self._key_buffer[:, :, :end], self._value_buffer[:, :, :end]
        return self.keys, self.values

    def _grown(self, buffer: Tensor, needed: int) -> Tensor:
        if needed <= buffer.shape[2]:
            return buffer
        capacity = max(needed, 2 * buffer.shape[2], _FIRST_CAPACITY)
        grown = buffer.new_empty(*buffer.shape[:2], capacity, buffer.shape[3])
        grown[:, :, : self.length] = buffer[:, :, : self.length]
        return grown

    def keep(self, path: Sequence[int]) -> None:
        """Move these rows of the last forward to the end of the kept positions."""
        if self.pending and list(path) != list(range(len(path))):
            source = torch.tensor(path, device=self._key_buffer.device) + self.length
            span = slice(self.length, self.length + len(path))
            self._key_buffer[:, :, span] = self._key_buffer[:, :, source]
            self._value_buffer[:, :, span] = self._value_buffer[:, :, source]
        self.length += len(path)
        self.pending = 0

    @property
    def nbytes(self) -> int:
        """Bytes of both buffers."""
        return self._key_buffer.nbytes + self._value_buffer.nbytes if self.is_initialized else 0

    def get_seq_length(self) -> int:
        """Positions stored, those of the running forward included, as stock layers count."""
        return self.length + self.pending

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Key positions a forward of `query_length` rows will see, and the position of the first."""
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        """-1: it grows."""
        return -1


class Past(Protocol):
    """The sequence so far as a model remembers it."""

    filled: int
    """Tokens of the sequence that are in it."""
    span: int
    """Sequence length the rotary frequencies of its rows were made for; 0: each row's own (see `rope`)."""
    whole_prompt: bool
    """True where a prompt must be processed from its first token in one piece."""

    @property
    def nbytes(self) -> int:
        """Bytes it takes."""
        ...

    def settle(self) -> None:
        """Forget the rows of an earlier forward that nobody kept; `filled` is the truth afterwards."""
        ...

    def begin(self) -> Cache | list[Tensor] | None:
        """The cache to hand to a forward."""
        ...

    def check(self, rows: int, output: Any) -> None:
        """Take what the forward that just ran gave back. Raises if it did not store its rows."""
        ...

    def keep(self, path: Sequence[int]) -> None:
        """Commit these rows of the last forward, in this order."""
        ...

    def truncate(self, length: int) -> None:
        """Forget the tokens from `length` on, or more where the cache cannot go back exactly that far."""
        ...


class BranchPast:
    """A past that can hold guessed siblings."""

    whole_prompt = False

    def __init__(self) -> None:
        self.filled = 0
        self.span = 0
        self.cache = Cache(layer_class_to_replicate=BranchLayer)

    @property
    def layers(self) -> list[BranchLayer]:
        """The layers the model has used so far."""
        return cast("list[BranchLayer]", self.cache.layers)

    @property
    def nbytes(self) -> int:
        """See `Past`."""
        return sum(layer.nbytes for layer in self.layers)

    def settle(self) -> None:
        """See `Past`: they lie behind the kept rows and are overwritten."""

    def begin(self) -> Cache:
        """See `Past`."""
        for layer in self.layers:
            layer.length, layer.pending = self.filled, 0
        return self.cache

    def check(self, rows: int, output: Any) -> None:
        """See `Past`: some releases ignore a cache passed under an old name without a word."""
        if not any(layer.pending == rows for layer in self.layers):
            raise LacliError(
                "the model did not store its rows in the cache it was given",
                "use another model or release of transformers",
            )

    def keep(self, path: Sequence[int]) -> None:
        """See `Past`."""
        for layer in self.layers:
            layer.keep(path)
        self.filled += len(path)

    def truncate(self, length: int) -> None:
        """See `Past`."""
        self.filled = min(self.filled, length)


class RecurrentPast:
    """The past of a model whose state moves with every row: it can be extended by the next token or built anew."""

    whole_prompt = True

    def __init__(self, config: PreTrainedConfig) -> None:
        self.filled = 0
        self.span = 0
        self._config = config
        self._cache: Cache = DynamicCache(config=config)
        self._moved = False  # by a forward whose rows nobody has kept yet

    @property
    def nbytes(self) -> int:
        """See `Past`; a state does not grow, so it is not counted."""
        return 0

    def settle(self) -> None:
        """See `Past`: a state that has moved cannot go back."""
        if self._moved:
            self.filled = 0
            self._moved = False

    def begin(self) -> Cache | list[Tensor] | None:
        """See `Past`."""
        if self.filled == 0:
            self._cache = DynamicCache(config=self._config)
        self._moved = True
        return self._cache

    def check(self, rows: int, output: Any) -> None:
        """See `Past`; a state has no length to look at, the runner's trial compares logits instead."""

    def keep(self, path: Sequence[int]) -> None:
        """See `Past`; rows are kept as they came."""
        self.filled += len(path)
        self._moved = self._moved and not path

    def truncate(self, length: int) -> None:
        """See `Past`."""
        if length < self.filled:
            self.filled = 0


class StatePast(RecurrentPast):
    """The past of a model without a cache class (RWKV): a list of tensors that it makes, and updates in place."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config)
        self._state: list[Tensor] | None = None

    def begin(self) -> list[Tensor] | None:
        """See `Past`."""
        if self.filled == 0:
            self._state = None
        self._moved = True
        return self._state

    def check(self, rows: int, output: Any) -> None:
        """See `Past`."""
        self._state = output.state
