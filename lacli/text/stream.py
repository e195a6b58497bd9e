"""Ids to pieces of text as they are generated. No ids or text are kept beyond an unfinished character."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import Protocol


class Spelling(Protocol):
    """What a stream needs of a tokenizer."""

    def token_bytes(self, token_id: int) -> bytes:
        """What an id adds to the text."""
        ...


class TextStream:
    """Text of one reply, piece by piece; bytes of an unfinished character wait for the next token."""

    def __init__(self, tokenizer: Spelling) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token_ids: Iterable[int]) -> str:
        """The text these ids complete."""
        return self.push_bytes(b"".join(map(self._tokenizer.token_bytes, token_ids)))

    def push_bytes(self, data: bytes) -> str:
        """The text these bytes complete; bytes that can never be a character become U+FFFD."""
        return self._decoder.decode(data)

    def finish(self) -> str:
        """What is left at the end: nothing, since half a character is not something the model wrote."""
        self._decoder.reset()
        return ""

    def interrupt(self) -> str:
        """The end where more bytes did follow but are not shown: half a character was broken off by the model."""
        return self._decoder.decode(b"", final=True)
