"""What the model is asked once in an edit, and how it becomes a request. Data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from lacli.events import Message, Request

Form = Literal["rewrite", "insert", "search"]


@dataclass(frozen=True, slots=True)
class Question:
    """What the model is asked once, for one part."""

    messages: tuple[Message, ...]
    form: Form
    part: str
    """The text of the part; of an insertion nothing."""
    begun: str
    """What the answer is begun with."""

    def whole(self, text: str) -> str:
        """A reply with what it was begun with; one that opens a block of its own did not go on from there."""
        mark = self.begun[: len(self.begun) - len(self.begun.lstrip("`"))]
        fences = [line.strip() for line in text.split("\n") if mark and line.strip().startswith(mark)]
        begins = bool(mark) and text.lstrip().startswith(mark) and bool(text.strip().strip("`"))
        opened = bool(fences) and (begins or len(fences) % 2 == 0 or fences[0].strip("`") != "")
        return text if opened else self.begun + text

    def of(self, request: Request) -> Request:
        """The request that asks it; `request` has the user's options and no messages of its own but the system's."""
        return replace(
            request,
            messages=(*request.messages, *self.messages),
            rewrites=self.part if self.form == "rewrite" else "",
            one_block=self.form == "insert" or (self.form == "rewrite" and not self.part.strip()),
            begun=self.begun,
        )
