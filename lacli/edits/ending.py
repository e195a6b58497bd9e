"""Ends a reply with the block it was asked for: what models explain behind it is read by nobody.

A copied file takes few steps, an explanation of it takes as many again. A watcher of `text.stops`, so that the reply
ends at the same byte whatever steps it came in. Made by `lacli.context`.
"""

from __future__ import annotations

from lacli.edits.doubts import doubts
from lacli.edits.reply import ends_alike, rewritten
from lacli.text.fences import fence_of
from lacli.text.lines import written

_LEAST_SHARE = 0.8
"""A block of a smaller share of the lines may be a piece shown first."""


class BlockEnd:
    """Satisfied at the end of the line that closes a block which holds the original, changed and to its end."""

    begin = 0
    ending = ""

    def __init__(self, original: str) -> None:
        self._original = original
        self._text = bytearray()
        self._line = 0

    def feed(self, byte: int) -> int | None:
        """See `Watcher`."""
        self._text.append(byte)
        if byte != ord("\n"):
            return None
        begin, self._line = self._line, len(self._text)
        line = self._text[begin:]
        if not line.strip().startswith((b"```", b"~~~")):
            return None
        fence = fence_of(line.decode("utf-8", "replace"))
        if fence is None or fence.info or not self._is_complete(self._text[:begin].decode("utf-8", "replace")):
            return None
        return len(self._text)

    @property
    def safe(self) -> int:
        """See `Watcher`. Nothing is ever cut away."""
        return len(self._text)

    def end(self, early: bool) -> int | None:
        """See `Watcher`."""
        return None

    def _is_complete(self, before: str) -> bool:
        """Whether the fence behind this text ends what was asked for; what may be a piece of it does not."""
        if not ends_alike(before, self._original):  # cheap, and of many fences true of the last one only
            return False
        found = rewritten(self._text.decode("utf-8", "replace"), self._original, ended=False)
        return (
            found is not None
            and found.whole
            and found.text.rstrip("\n") != self._original.rstrip("\n")
            and ends_alike(found.text, self._original)
            and written(found.text.split("\n")) >= _LEAST_SHARE * written(self._original.split("\n"))
            and not doubts(self._original, found.text, "")
        )
