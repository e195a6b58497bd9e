"""What `lacli acp` is started with: filled in by the command line. Data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lacli.config import Settings
from lacli.events import Notice, Request


@dataclass(frozen=True, slots=True)
class Start:
    """The options of every conversation."""

    settings: Settings = field(default_factory=Settings)
    request: Request = field(default_factory=Request)
    """The options of the replies; its messages are ignored."""
    system: str = ""
    keep: bool = True
    """Whether conversations are kept in the log."""
    instructions: bool = True
    """Whether a project's AGENTS.md is shown to the model."""
    checked: Callable[[str, str], Any] = lambda flag, value: value
    """Parses the value of an option as its flag would. Raises UsageError."""
    notify: Callable[[Notice], None] = lambda notice: None
    """Tells whoever reads stderr what no editor is told."""
