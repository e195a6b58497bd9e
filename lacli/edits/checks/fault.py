"""What is wrong with an edited text, as one line. Data; made by the modules beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FaultKind = Literal[
    "syntax",
    "lost",
    "doubled",
    "order",
    "changed",
    "code",
    "undefined",
    "rename",
    "layout",
    "placeholder",
    "form",
    "size",
    "asked",
    "unused",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a result is not to be written as it is."""

    kind: FaultKind
    text: str
    """What is wrong, in one line for the user."""
    order: str = ""
    """What the model is told to do about it, where that does not follow from the text."""

    @property
    def told(self) -> str:
        """The line for the model."""
        return f"{self.text}: {self.order}" if self.order else self.text
