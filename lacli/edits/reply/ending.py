"""Ends a reply with the block it was asked for: what models explain behind it is read by nobody.

A copied file takes few steps, an explanation of it takes as many again. Watchers of `text.stops`, so that the reply
ends at the same byte whatever steps it came in. Made by `lacli.assistant.prompt`.
"""

from __future__ import annotations

from lacli.edits.reply.doubts import doubts
from lacli.edits.reply.reply import ends_alike, rewritten
from lacli.text.fences import blocks, fence_of
from lacli.text.lines import written

_LEAST_SHARE = 0.8
"""A block of a smaller share of the lines may be a piece shown first."""
_AGAIN = 5
"""So many lines from the beginning of a text, written once more behind all of it, begin it again."""


class FirstBlockEnd:
    """Satisfied at the end of the line that closes the first block."""

    begin = 0
    ending = ""

    def __init__(self, begun: str = "") -> None:
        """`begun`: what the model was given as the beginning of its reply; lengths are of what comes behind it."""
        self._given = len(begun.encode())
        self._text = bytearray(begun.encode())
        self._line = self._text.rfind(b"\n") + 1

    def feed(self, byte: int) -> int | None:
        """See `Watcher`."""
        self._text.append(byte)
        if byte != ord("\n"):
            return None
        begin, self._line = self._line, len(self._text)
        over = self._over(begin)
        return None if over is None else over - self._given

    @property
    def safe(self) -> int:
        """See `Watcher`."""
        return len(self._text) - self._given

    def end(self, early: bool) -> int | None:
        """See `Watcher`."""
        return None

    def _over(self, begin: int) -> int | None:
        """Where the reply ends, if the line that begins here ends it."""
        line = self._text[begin:]
        if not line.strip().startswith((b"```", b"~~~")):
            return None
        fence = fence_of(line.decode("utf-8", "replace"))
        if fence is None or fence.info or not self._is_complete(begin):
            return None
        return len(self._text)

    def _is_complete(self, begin: int) -> bool:
        """Whether the fence in this line closes a block that is all there is to say."""
        return any(block.closed for block in blocks(self._written()))

    def _written(self) -> str:
        return self._text.decode("utf-8", "replace")


class BlockEnd(FirstBlockEnd):
    """Satisfied at the end of the line that closes a block which holds the original, changed and to its end.

    Also where the model, in the same block behind all of it, begins to write it again: it would go on to its limit.
    """

    def __init__(self, original: str, begun: str = "") -> None:
        super().__init__(begun)
        self._original = original
        self._lines = [line.strip() for line in original.split("\n") if line.strip()]
        self._new = 0
        """Lines of this block that are not blank."""
        self._matched = 0
        """How many of the original's first lines the last ones are."""
        self._again = 0
        """Where these begin."""

    def _over(self, begin: int) -> int | None:
        return super()._over(begin) or self._begins_again(begin)

    def _begins_again(self, begin: int) -> int | None:
        """Where the text is begun a second time, once that is sure."""
        line = self._text[begin:].decode("utf-8", "replace").strip()
        if not line:
            return None
        if line.startswith(("```", "~~~")):  # models show a text before the change, then after it, each in its block
            self._new = self._matched = 0
            return None
        self._new += 1
        if self._new <= len(self._lines):
            return None
        if self._matched and line != self._lines[self._matched]:
            self._matched = 0
        if line == self._lines[self._matched]:
            self._again = self._again if self._matched else begin
            self._matched += 1
        return self._again if self._matched == min(_AGAIN, len(self._lines)) > 1 else None

    def _is_complete(self, begin: int) -> bool:
        """Whether the fence in this line ends what was asked for; what may be a piece of it does not."""
        before = self._text[:begin].decode("utf-8", "replace")
        if not ends_alike(before, self._original):  # cheap, and of many fences true of the last one only
            return False
        found = rewritten(self._written(), self._original, ended=False)
        return (
            found is not None
            and found.whole
            and found.text.rstrip("\n") != self._original.rstrip("\n")
            and ends_alike(found.text, self._original)
            and written(found.text.split("\n")) >= _LEAST_SHARE * written(self._original.split("\n"))
            and not doubts(self._original, found.text)
        )
