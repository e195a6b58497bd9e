"""Progress of fetching and preparing a model, as it is reported to the caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lacli.events import Stage
from lacli.models.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Progress:
    """What fetching and preparing tell the caller; the assistant turns it into events."""

    stage: Stage | Literal["note"]
    """note: there is only a text."""
    done: int = 0
    total: int = 0
    """Bytes (fetch, check, unpack) or tensors (prepare); 0 where unknown."""
    text: str = ""
    """One line for the user where it is not empty."""


ProgressReport = Callable[[Progress], None]


def announce(spec: ModelSpec, report: ProgressReport, what: str) -> None:
    """Say what is going to be fetched, before it is."""
    report(Progress("note", text=f"fetching {spec.title} once: {what}"))
    if spec.note:
        report(Progress("note", text=spec.note))
