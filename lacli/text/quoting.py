"""A thought as people are shown it: quoted in front of the answer, and apart from it on every terminal. Pure text."""

from __future__ import annotations


class Quoting:
    """What a reply looks like with its thought as a quotation, piece by piece."""

    def __init__(self) -> None:
        self._blank = ""
        """Line ends that are shown if more is thought."""
        self._begun = False
        self._ended = False

    def push(self, text: str, thought: str) -> str:
        """More of a reply and of its thought, which comes first."""
        return self._think(thought) + self._answer(text)

    def _think(self, thought: str) -> str:
        whole = self._blank + thought if self._begun else thought.lstrip()
        shown = whole.rstrip()
        self._blank = whole[len(shown) :]
        if not shown:
            return ""
        begin, self._begun = "" if self._begun else "> ", True
        return begin + shown.replace("\n", "\n> ")

    def _answer(self, text: str) -> str:
        if not text or not self._begun or self._ended:
            return text
        self._ended = True
        return f"\n\n{text}"


def quoted(thought: str) -> str:
    """A whole thought as a quotation."""
    return Quoting().push("", thought)
