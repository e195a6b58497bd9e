"""The remotes of the user's configuration, and the assistant for one, imported only when a remote is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacli.cli.run import Run
from lacli.config import Settings
from lacli.configuration.remotes import Remote, checked, named

if TYPE_CHECKING:
    from lacli.remote.assistant import RemoteAssistant


def known() -> dict[str, Remote]:
    """The remotes by name, as the user's file has them. Raises the first mistake in them."""
    found: dict[str, Remote] = {}
    for source in Run.current.config_files.read():
        if source.kind == "user":
            remotes, problems = checked(source.document)
            for problem in problems:
                raise problem.to_error()
            found |= remotes
    return found


def assistant(settings: Settings) -> RemoteAssistant:
    """The assistant of the remote that the settings name; a mistake there is found with its first call."""
    from lacli.remote.assistant import RemoteAssistant

    return RemoteAssistant(settings, lambda: named(settings.model or "", known()))
