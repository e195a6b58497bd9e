"""What a reasoning model thinks before it answers, told apart from the answer, which alone is the reply. Pure text.

Such a model begins its reply with a thought between two marks, or its chat template has opened one and the reply begins
inside. A mark further on is text like any other: an answer may be about these marks. A thought that is never closed
goes to the end.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from lacli.text.stops import Watcher

_CLOSING = {
    "<think>": "</think>",  # DeepSeek, Qwen, GLM, Nemotron and most others
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",  # EXAONE
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",  # Mistral
    "<|START_THINKING|>": "<|END_THINKING|>",  # Cohere
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "◁think▷": "◁/think▷",  # Kimi
}
MARKS = frozenset([*_CLOSING, *_CLOSING.values()])
"""The texts that begin and end a thought. Some vocabularies have them as control tokens, which else have no text."""
_LEADING = re.compile(r"\A(?:\s*\n|[ \t]+)")
"""What stands between a thought and its answer; the indentation of the answer's first line is part of it."""


@dataclass(frozen=True, slots=True)
class Split:
    """A stretch of a reply."""

    answer: str = ""
    thought: str = ""

    def __add__(self, other: Split) -> Split:
        """Both, one after the other."""
        return Split(self.answer + other.answer, self.thought + other.thought)


class Thoughts:
    """Splits a reply as it is written. What may yet become a mark is held back.

    `opened`: whether the reply begins inside a thought; None where it can hold none, and all of it is the answer.
    """

    def __init__(self, opened: bool | None = False) -> None:
        self._held = ""
        self._closings: tuple[str, ...] = tuple(_CLOSING.values()) if opened else ()
        self._at: Literal["start", "thought", "answer"] = "answer" if opened is None else "start"
        self._thought = False
        """Whether there was a thought already."""

    @property
    def held(self) -> str:
        """The end of the text, as long as it is not known what it belongs to."""
        return self._held

    @property
    def is_over(self) -> bool:
        """Whether the answer has begun: from here on all is answer."""
        return self._at == "answer"

    def push(self, text: str) -> Split:
        """What the next piece makes certain."""
        self._held += text
        found = Split()
        while (more := self._next()) is not None:
            found += more
        return found

    def finish(self) -> Split:
        """What was held back, at the reply's end."""
        held, self._held = self._held, ""
        if self._at == "thought" or self._closings:
            return Split(thought=held)
        return Split(_LEADING.sub("", held) if self._thought else held)

    def _next(self) -> Split | None:
        """One step further in what is held; None where more text is needed."""
        if self._at == "start":
            return self._begin()
        if self._at == "thought":
            return self._think()
        held, self._held = self._held, ""
        return Split(held) if held else None

    def _begin(self) -> Split | None:
        begun = self._held.lstrip()
        opening = next((mark for mark in _CLOSING if begun.startswith(mark)), None)
        if opening is not None:
            self._held = begun[len(opening) :]
            self._closings = (_CLOSING[opening],)
        elif any(mark.startswith(begun) for mark in _CLOSING):
            return None
        if self._closings:
            self._at = "thought"
            return Split(thought="\n\n" if self._thought else "")
        self._at = "answer"
        if self._thought:
            self._held = _LEADING.sub("", self._held)
        return Split()

    def _think(self) -> Split | None:
        held = self._held
        ends = [(at, mark) for mark in self._closings if (at := held.find(mark)) >= 0]
        if ends:
            at, mark = min(ends)
            self._held = held[at + len(mark) :]
            self._closings, self._at, self._thought = (), "start", True
            return Split(thought=held[:at])
        keep = max(_begun(held, mark) for mark in self._closings)
        self._held = held[len(held) - keep :]
        return Split(thought=held[: len(held) - keep]) if len(held) > keep else None


def opens_thought(prompt: str) -> bool:
    """Whether a reply to this prompt begins inside a thought, as the prompt's last word is the mark that opens one."""
    return prompt.rstrip().endswith(tuple(_CLOSING))


def knows_thoughts(template: str) -> bool:
    """Whether a chat template speaks of thoughts, so that its model may spend tokens on one before it answers."""
    return any(mark in template for mark in MARKS)


class AfterThought:
    """A watcher of `text.stops` that is shown the answer only: nothing that is merely thought ends a reply."""

    begin = 0
    ending = ""

    def __init__(self, watcher: Watcher, opened: bool) -> None:
        self._watcher = watcher
        self._thoughts = Thoughts(opened)
        # bytes that are no text come back as they were, so that places can be counted
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._seen = 0
        self._before = 0
        """Bytes in front of the answer."""

    def feed(self, byte: int) -> int | None:
        """See `Watcher`."""
        self._seen += 1
        if self._thoughts.is_over:
            end = self._watcher.feed(byte)
            return None if end is None else end + self._before
        answer = _bytes(self._thoughts.push(self._decoder.decode(bytes([byte]))).answer)
        if self._thoughts.is_over:
            self._before = self._seen - len(answer)
        ends = [end for each in answer if (end := self._watcher.feed(each)) is not None]
        return min(ends) + self._before if ends else None

    @property
    def safe(self) -> int:
        """See `Watcher`."""
        if self._thoughts.is_over:
            return self._before + self._watcher.safe
        undecided = len(_bytes(self._thoughts.held)) + len(self._decoder.getstate()[0])
        return self._seen - undecided

    def end(self, early: bool) -> int | None:
        """See `Watcher`."""
        end = self._watcher.end(early)
        return None if end is None else end + self._before


def _begun(text: str, mark: str) -> int:
    """How many letters at the end of the text may be the beginning of the mark."""
    return next((size for size in range(min(len(text), len(mark) - 1), 0, -1) if mark.startswith(text[-size:])), 0)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
