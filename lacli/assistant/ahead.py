"""Prefill while the engine is idle: after a completion, the longest prompts for its place are computed, so that the
next completion there can show a full window within its budget.

It stops within one forward of at most 64 tokens when a request arrives. The result goes into the KV store block by
block and follows its rules: a prompt that may not be stored is not read ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lacli.completion.layout import Later
from lacli.kv.blocks import POSITIONS

if TYPE_CHECKING:
    from lacli.assistant.base import Cancel
    from lacli.assistant.kept_prompts import KeptPrompts
    from lacli.assistant.loaded import Loaded
    from lacli.assistant.prompt import Prompt


class Ahead:
    """The prompts to prefill after one completion, and how many of their tokens were computed."""

    def __init__(self, loaded: Loaded, prompt: Prompt, said: str) -> None:
        """said: the cursor's line together with the reply, to be checked for secrets."""
        self.tokens = 0
        """Read so far."""
        self._loaded = loaded
        self._text, self._said = prompt.text, said
        self._later = prompt.later or Later()
        self._left: list[tuple[int, ...]] | None = None
        """Prompts still to be read; None until they are built."""

    def read(self, cancel: Cancel) -> None:
        """Continue until everything is read or `cancel` says that a request waits. Raises what a forward raises."""
        kept = self._loaded.kept
        if kept is None or self._left == [] or kept.refuses(self._text, self._said):
            return
        if self._left is None:
            self._left = list(self._later.ahead())
        while self._left and not cancel():
            if self._read(kept, self._left[0], cancel):
                del self._left[0]

    def _read(self, kept: KeptPrompts, ids: Sequence[int], cancel: Cancel) -> bool:
        """Prefill these ids into the KV cache, a block at a time. Returns whether it now holds all of them."""
        cached = self._loaded.cached
        kept.restore(cached, ids)
        held = cached.reusable(ids)
        while held < len(ids) - 1:
            end = min(len(ids), (held // POSITIONS + 1) * POSITIONS)
            cached.start(ids[:end], lambda done: not cancel())
            self.tokens += cached.length - held
            kept.keep(cached, ids[:end], self._text, "", self._loaded.pace.ms_per_token)
            if cached.length < end or cancel():
                return False
            held = end
        return True
