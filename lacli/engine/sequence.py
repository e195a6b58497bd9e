"""The ids in a runner's KV cache, kept beside it so that a later prompt prefills only what is new.

Called by `engine.loop` and read by the assistant. The only place that may truncate a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lacli.models.base import Rows, Runner, Scores


class CachedSequence:
    """A runner and the token ids its cache holds, always of the same length."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._ids: list[int] = []

    def reusable(self, prompt: Sequence[int]) -> int:
        """Tokens of `prompt` that need not be prefilled; the last one always is, for its scores."""
        common = 0
        for ours, theirs in zip(self._ids, prompt[:-1], strict=False):
            if ours != theirs:
                break
            common += 1
        return common

    def start(self, prompt: Sequence[int], on_chunk: Callable[[int], bool]) -> Scores | None:
        """Make the cache hold exactly `prompt`; scores of its last token, or None if `on_chunk` said stop."""
        common = self.reusable(prompt)
        self.runner.truncate(common)
        del self._ids[common:]
        try:
            return self.runner.prefill(prompt[common:], on_chunk)
        finally:
            self._ids.extend(prompt[common : self.runner.length])

    def keep(self, rows: Rows, path: Sequence[int]) -> None:
        """Commit these rows of the last forward; none where a reply ended before its first token."""
        if not path:
            return
        self.runner.keep(path)
        self._ids.extend(rows.token_ids[row] for row in path)
