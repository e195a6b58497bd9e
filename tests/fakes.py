"""Stand-ins for the engine's two neighbours: a runner whose next token comes from a table, a source with a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch

from lacli.drafts.base import Draft, GuessSource, Sources
from lacli.errors import OutOfMemory
from lacli.models.base import Rows, Scores
from lacli.models.runners.scores import scores_of

Table = Mapping[int, int] | Callable[[Sequence[int]], int | Sequence[float]]


def as_sources(given: Sequence[GuessSource]) -> Sources:
    """Sources of both kinds in one list, as the engine takes them."""
    drafts: list[Any] = [source for source in given if hasattr(source, "propose")]
    followers: list[Any] = [source for source in given if hasattr(source, "follow")]
    assert len(followers) <= 1
    return Sources(tuple(drafts), *followers)


class TableRunner:
    """A `lacli.models.base.Runner` without a model.

    The table is a mapping from the last token to the next one, or a function of the whole context that returns the next
    token or all its logits. Siblings, scattered paths and compaction behave as in a real cache; misuse raises.
    """

    def __init__(
        self,
        table: Table,
        vocab_size: int = 64,
        context_size: int = 4096,
        can_branch: bool = True,
        chunk: int = 512,
    ) -> None:
        self.vocab_size = vocab_size
        self.context_size = context_size
        self.can_branch = can_branch
        self.kernel = "torch"
        self.notes: tuple[str, ...] = ()
        self.cache: list[int] = []
        """The ids whose KV would be stored."""
        self.forwards: list[Rows] = []
        """Every forward asked for, in order."""
        self.prefilled: list[tuple[int, ...]] = []
        """The ids of every prefill."""
        self._table = table
        self._chunk = chunk

    @property
    def length(self) -> int:
        return len(self.cache)

    def prefill(self, token_ids: Sequence[int], on_chunk: Callable[[int], bool] | None = None) -> Scores | None:
        assert token_ids, "a prefill needs a token"
        assert len(self.cache) + len(token_ids) <= self.context_size, "prefill past the context"
        self.prefilled.append(tuple(token_ids))
        for start in range(0, len(token_ids), self._chunk):
            self.cache += token_ids[start : start + self._chunk]
            done = min(start + self._chunk, len(token_ids))
            if on_chunk is not None and not on_chunk(done):
                return None
        return scores_of(self._logits(self.cache)[None])

    def forward(self, rows: Rows) -> Scores:
        assert rows.parents[0] == -1
        assert 0 in rows.wanted
        assert all(parent < index for index, parent in enumerate(rows.parents))
        assert all(0 <= token_id < self.vocab_size for token_id in rows.token_ids)
        assert self.can_branch or len(rows.token_ids) == 1
        assert self.length + max(rows.depths()) < self.context_size, "a row beyond the context"
        self.forwards.append(rows)
        return scores_of(torch.stack([self._logits(self.cache + self._path(rows, row)) for row in rows.wanted]))

    def keep(self, path: Sequence[int]) -> None:
        rows = self.forwards[-1]
        assert path, "nothing to keep"
        assert path[0] == 0, "a path starts at row 0"
        assert all(rows.parents[row] == above for above, row in pairwise(path)), "not a path"
        self.cache += [rows.token_ids[row] for row in path]

    def truncate(self, length: int) -> None:
        assert 0 <= length <= self.length
        del self.cache[length:]

    def _path(self, rows: Rows, row: int) -> list[int]:
        token_ids: list[int] = []
        while row >= 0:
            token_ids.append(rows.token_ids[row])
            row = rows.parents[row]
        return token_ids[::-1]

    def _logits(self, context: Sequence[int]) -> torch.Tensor:
        answer = self._table.get(context[-1], 0) if isinstance(self._table, Mapping) else self._table(context)
        if isinstance(answer, int):
            logits = torch.zeros(self.vocab_size)
            logits[answer] = 10.0
            return logits
        return torch.tensor(answer, dtype=torch.float32)


class NarrowRunner(TableRunner):
    """One that has no memory for forwards of more than `most` rows."""

    def __init__(self, table: Table, most: int) -> None:
        super().__init__(table)
        self.most = most
        self.failed = 0

    def forward(self, rows: Rows) -> Scores:
        if len(rows.token_ids) > self.most:
            self.failed += 1
            raise OutOfMemory("the device ran out of memory in a forward pass")
        return super().forward(rows)


class SharingTableRunner(TableRunner):
    """A `lacli.models.base.SharingRunner` without a model; all siblings note their common forwards in one list."""

    position_bytes = 100

    def __init__(self, table: Table, vocab_size: int = 64, context_size: int = 4096) -> None:
        super().__init__(table, vocab_size, context_size)
        self.together: list[list[int]] = []
        """For each forward the rows of every sequence in it."""
        self.adopted: list[int] = []
        """Tokens copied from a sibling, each time."""

    @property
    def cache_bytes(self) -> int:
        return self.position_bytes * len(self.cache)

    def sibling(self) -> SharingTableRunner:
        made = type(self)(self._table, self.vocab_size, self.context_size)
        made.together, made.adopted = self.together, self.adopted
        return made

    def adopt(self, other: SharingTableRunner, length: int) -> None:
        assert other is not self
        assert length <= len(other.cache)
        self.cache = other.cache[:length]
        self.adopted.append(length)

    def forward(self, rows: Rows) -> Scores:
        return self.forward_many([(self, rows)])[0]

    def forward_many(self, asked: Sequence[tuple[SharingTableRunner, Rows]]) -> list[Scores]:
        assert len({id(runner) for runner, _ in asked}) == len(asked)
        self.together.append([len(rows.token_ids) for _, rows in asked])
        answers = []
        for runner, rows in asked:
            assert runner.length + max(rows.depths()) < runner.context_size, "a row beyond the context"
            runner.forwards.append(rows)
            logits = [runner._logits(runner.cache + runner._path(rows, row)) for row in rows.wanted]
            answers.append(scores_of(torch.stack(logits) if logits else torch.empty(0, runner.vocab_size)))
        return answers


class ListSource:
    """A `DraftSource` that always proposes the same continuations, and remembers what it was told."""

    def __init__(self, guesses: Sequence[Sequence[int]], name: str = "prompt", chance: float = 0.9) -> None:
        self.name = name
        self.guesses = [tuple(guess) for guess in guesses]
        self.started: list[tuple[int, ...]] = []
        self.credited: list[tuple[Draft, int]] = []
        self.observed: list[int] = []
        self._chance = chance

    def start(self, context: Sequence[int]) -> None:
        self.started.append(tuple(context))

    def propose(self, context: Sequence[int], room: int) -> Sequence[Draft]:
        drafts = []
        for guess in self.guesses:
            cut = guess[:room]
            if cut:
                drafts.append(Draft(cut, tuple(self._chance ** (depth + 1) for depth in range(len(cut))), self.name))
        return drafts

    def credit(self, draft: Draft, accepted: int) -> None:
        self.credited.append((draft, accepted))

    def observe(self, token_ids: Sequence[int]) -> None:
        self.observed += token_ids

    def fork(self) -> ListSource:
        return self

    def merge(self, fork: ListSource) -> None:
        pass
