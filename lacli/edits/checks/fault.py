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
    """One line that tells the user what is wrong and the model what to mend."""
