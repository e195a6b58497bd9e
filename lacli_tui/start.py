"""What the terminal UI is started with: filled in by the command line, read by the app, its screen and the chat."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lacli.assistant.base import Replier
from lacli.config import Settings
from lacli.configuration.remotes import Remote
from lacli.errors import UsageError
from lacli.events import Request
from lacli.project.instructions import Instructions
from lacli.sessions.records import Session


def _no_remote(settings: Settings) -> Replier:
    raise UsageError(f"{settings.model} is not known here", "name a model of `lacli models list`")


@dataclass(frozen=True, slots=True)
class Start:
    """Everything the terminal UI is started with."""

    settings: Settings = field(default_factory=Settings)
    request: Request = field(default_factory=Request)
    """The options of the replies; its messages are ignored."""
    model: str = ""
    """The alias of the model in `settings`."""
    missing: str = ""
    """What must be done before the model can be loaded: fetch, prepare, or nothing."""
    system: str = ""
    instructions: Instructions | None = None
    """What the project says of itself."""
    session: Session | None = None
    """The saved chat to resume."""
    replier: Replier | None = None
    """Replaces the engine in a child process, for tests."""
    remotes: Callable[[], Mapping[str, Remote]] = dict
    """The remotes of the user's configuration, by name. Raises LacliError."""
    remote: Callable[[Settings], Replier] = _no_remote
    """Makes the assistant of the remote that the settings name."""
    folder: Path = field(default_factory=Path)
    """The project's folder."""
    project: str = ""
    """The project's name."""
    keep: bool = True
    """Whether the chat is saved."""
    attach: bool = False
    """Whether the engine of `lacli serve` is used, where one runs."""
    auto_serve: bool = False
    """Whether it is started where none does."""
    theme: str = ""
    """The name of a theme; empty: dark, or what NO_COLOR and the terminal call for."""
    animation: bool = True
    mouse: bool = True
    inline: bool = False
    keymap: Mapping[str, str] = field(default_factory=dict)
    """The user's keys, by the ids of actions."""
    keep_theme: Callable[[str], str] | None = None
    """Saves a theme for later runs; returns what to say about that."""
    checked: Callable[[str, str], Any] = lambda flag, value: value
    """Parses the value of an option as its flag would. Raises UsageError."""
    origins: Callable[[], Mapping[str, str]] = dict
    """Where the values of options come from, by their names without dashes. Slow. Raises LacliError."""
    edited: Callable[[str], str] = str
    """Lets the user edit a text in an editor, which gets the terminal. Raises LacliError."""
    now: Callable[[], float] = time.time
