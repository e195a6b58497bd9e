"""A runner together with the token ids in its KV cache, so that a later prompt prefills only its new tokens.

This is the only place that may truncate a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lacli.models.base import Rows, Runner, Scores, SharingRunner


class CachedSequence:
    """A runner and the ids of the tokens in its cache; both always have the same length."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._ids: list[int] = []

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return len(self._ids)

    def reusable(self, prompt: Sequence[int]) -> int:
        """How many leading tokens of `prompt` are cached already; at most all but the last, whose scores are needed."""
        return min(common(self._ids, prompt), len(prompt) - 1)

    def begin(self, prompt: Sequence[int]) -> int:
        """Truncate to the common prefix with `prompt`; returns its length."""
        kept = self.reusable(prompt)
        self.runner.truncate(kept)
        del self._ids[kept:]
        return kept

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the tokens in the cache."""
        return tuple(self._ids)

    def grown(self, token_ids: Sequence[int]) -> None:
        """Record tokens that were appended to the runner's cache without a forward, as from disk."""
        self._ids.extend(token_ids)
        assert len(self._ids) == self.runner.length

    def adopt(self, other: CachedSequence, length: int) -> None:
        """Copy the first `length` tokens from another sequence of the same model. Both need a `SharingRunner`."""
        assert isinstance(self.runner, SharingRunner)
        assert isinstance(other.runner, SharingRunner)
        self._ids.clear()
        self.runner.truncate(0)
        self.runner.adopt(other.runner, length)
        self._ids.extend(other._ids[:length])

    def start(self, prompt: Sequence[int], on_chunk: Callable[[int], bool]) -> Scores | None:
        """Make the cache hold exactly `prompt`. Returns the scores of its last token; None if `on_chunk` stopped it."""
        kept = self.begin(prompt)
        try:
            return self.runner.prefill(prompt[kept:], on_chunk)
        finally:
            self._ids.extend(prompt[kept : self.runner.length])

    def keep(self, rows: Rows, path: Sequence[int]) -> None:
        """Commit the rows on this path of the last forward; an empty path if the reply ended before its first token."""
        if not path:
            return
        self.runner.keep(path)
        self._ids.extend(rows.token_ids[row] for row in path)


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the longest common prefix."""
    for index, (ours, theirs) in enumerate(zip(left, right, strict=False)):
        if ours != theirs:
            return index
    return min(len(left), len(right))
