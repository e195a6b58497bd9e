"""Gets a model's files onto this machine, local files first. (being written)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lacli.errors import ModelUnavailable
from lacli.models.registry import ModelSpec


@dataclass(frozen=True, slots=True)
class Progress:
    """What fetching and preparing tell the caller; the assistant turns it into events."""

    stage: str
    """fetch, check, prepare, wait (for another process) or note."""
    done: int = 0
    total: int = 0
    """Bytes (fetch, check) or tensors (prepare); 0 where unknown."""
    text: str = ""
    """One line for the user where it is not empty."""


Report = Callable[[Progress], None]


def ensure_local(spec: ModelSpec, report: Report, offline: bool = False) -> Path:
    if spec.path is not None:
        return spec.path
    raise ModelUnavailable("fetch is not there yet")
