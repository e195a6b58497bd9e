"""What the terminal UI is started with: filled in by the command line, read by the app, its screen and the chat."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacli.assistant.base import Replier
from lacli.config import Settings
from lacli.events import Request
from lacli.sessions.records import Session


@dataclass(frozen=True, slots=True)
class Start:
    """What the terminal UI begins with."""

    settings: Settings = field(default_factory=Settings)
    request: Request = field(default_factory=Request)
    """How replies are to be written; its messages do not count."""
    model: str = ""
    """The name of the model in `settings`, as people know it."""
    missing: str = ""
    """What must be done before that can be loaded: fetch, prepare, or nothing."""
    system: str = ""
    session: Session | None = None
    """The conversation to go on with."""
    replier: Replier | None = None
    """Writes the replies instead of an engine in a child process: for tests."""
    folder: Path = field(default_factory=Path)
    """The project's folder."""
    project: str = ""
    """The project's name."""
    keep: bool = True
    """Whether what is said is kept among the sessions."""
    theme: str = ""
    """A name that textual knows; empty: dark, or what NO_COLOR and the terminal ask for."""
    animation: bool = True
    mouse: bool = True
    inline: bool = False
    keymap: Mapping[str, str] = field(default_factory=dict)
    """Ids of actions to their keys."""
    keep_theme: Callable[[str], str] | None = None
    """Makes a theme the one of later runs, and says so or why it is not."""
    checked: Callable[[str, str], Any] = lambda flag, value: value
    """The value of an option as its flag would take it; raises UsageError where it would not."""
    origins: Callable[[], Mapping[str, str]] = dict
    """Where the values of options come from, by their names without dashes; may take a moment. Raises LacliError."""
    edited: Callable[[str], str] = str
    """A text as the user leaves it in an editor that has the terminal. Raises LacliError."""
    now: Callable[[], float] = time.time
