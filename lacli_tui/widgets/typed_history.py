"""What was typed before, as the arrow keys of the prompt go through it, and the draft behind it. Pure."""

from __future__ import annotations

from collections.abc import Sequence


class TypedHistory:
    def __init__(self) -> None:
        self._typed: list[str] = []
        """The oldest first."""
        self._at = 0
        """The entry shown; behind the last one is the draft."""
        self._draft = ""

    def remember(self, typed: Sequence[str]) -> None:
        """Add older entries."""
        self._typed[:0] = typed
        self.leave()

    def add(self, text: str) -> None:
        if self._typed[-1:] != [text]:
            self._typed.append(text)

    def leave(self) -> None:
        """Go back to the draft."""
        self._at = len(self._typed)

    def older(self, shown: str) -> str | None:
        """The previous entry; keeps what is `shown` as the draft."""
        if self._at == 0:
            return None
        if self._at == len(self._typed):
            self._draft = shown
        self._at -= 1
        return self._typed[self._at]

    def newer(self) -> str | None:
        """The next entry, at last the draft."""
        if self._at == len(self._typed):
            return None
        self._at += 1
        return self._draft if self._at == len(self._typed) else self._typed[self._at]
