"""What `lacli lsp` is started with: filled in by the command line. Data."""

from __future__ import annotations

from dataclasses import dataclass, field

from lacli.config import Settings
from lacli.events import Request, Scope


@dataclass(frozen=True, slots=True)
class Start:
    """The options of every completion."""

    settings: Settings = field(default_factory=Settings)
    request: Request = field(default_factory=Request)
    """The options of the replies; its messages are ignored."""
    scope: Scope = "block"
    max_lines: int = 0
    lines_before: int = 256
    lines_after: int = 64
    neighbours: bool = True
    """Whether other files of the project are looked at."""
    read_ms: int = 0
    """What reading may take; 0 is no bound."""
