"""What the commands of `lacli sessions` share: the log, this project, the one session meant. Imports typer only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lacli.errors import UsageError

if TYPE_CHECKING:
    from lacli.sessions.records import Session
    from lacli.sessions.store import SessionStore

AllOption = Annotated[bool, typer.Option("--all", help="Of all projects, not of the current folder's alone.")]
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The beginning of an id; default: the session used last in this project.")
]


def log() -> SessionStore:
    """The log, for reading and removing."""
    from lacli.cli.terminal import diagnostics
    from lacli.sessions.store import SessionStore, path

    return SessionStore(path(), diagnostics.notice)


def here() -> Path | None:
    """The project of the current folder."""
    from lacli.project.root import project_root

    return project_root(Path("."))


def session_of(prefix: str) -> Session:
    """The session whose id begins with `prefix`; without one, the session used last in this project."""
    store = log()
    if prefix:
        return store.session(prefix)
    latest = store.list(here(), limit=1)
    if not latest:
        raise UsageError(nothing_kept(everywhere=False), "or give the beginning of an id")
    return store.session(latest[0].id)


def nothing_kept(everywhere: bool) -> str:
    """The message that there is nothing to list."""
    if everywhere:
        return "no session is kept yet"
    return "no session is kept of this project; --all lists those of others"
