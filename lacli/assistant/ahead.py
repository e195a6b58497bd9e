"""Reading ahead while nobody waits: after a completion the longest prompts of its place, so that the next one starts
there and shows a full window within its budget.

It ends within one forward of at most 64 tokens once anything is asked for. What is read goes into the KV store block
by block, and follows its rules: where a prompt may not be kept, nothing is read ahead.
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
    """What is worth reading behind one completion, and how many tokens of it were read."""

    def __init__(self, loaded: Loaded, prompt: Prompt, said: str) -> None:
        """said: the line of the cursor as the reply went on with it."""
        self.tokens = 0
        """Read so far."""
        self._loaded = loaded
        self._text, self._said = prompt.text, said
        self._later = prompt.later or Later()
        self._left: list[tuple[int, ...]] | None = None
        """What is not read yet; None before that was found out."""

    def read(self, cancel: Cancel) -> None:
        """Read on, until all is read or something else is wanted. Raises what a forward raises."""
        kept = self._loaded.kept
        if kept is None or self._left == [] or kept.refuses(self._text, self._said):
            return
        if self._left is None:
            self._left = list(self._later.ahead())
        while self._left and not cancel():
            if self._read(kept, self._left[0], cancel):
                del self._left[0]

    def _read(self, kept: KeptPrompts, ids: Sequence[int], cancel: Cancel) -> bool:
        """Make the KV cache hold these ids, a block at a time; whether it does."""
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
