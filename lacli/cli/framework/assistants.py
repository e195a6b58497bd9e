"""Who answers a command: a remote that was named, the engine of `lacli serve`, where one runs that fits, else a model
in this process."""

from __future__ import annotations

from lacli.assistant.base import BatchReplier
from lacli.cli.framework import remotes
from lacli.cli.framework.options import Common
from lacli.cli.terminal import diagnostics
from lacli.config import Settings
from lacli.configuration.remotes import is_remote


def assistant(common: Common, settings: Settings | None = None) -> BatchReplier:
    """An assistant for these options, or for `settings` that they led to."""
    settings = settings or common.settings()
    if is_remote(settings.model):
        return remotes.assistant(settings)
    if common.attach:
        from lacli.server.background import reach

        found = reach(settings, common.auto_serve, diagnostics.note)
        if found is not None:
            return found
    from lacli.assistant.assistant import Assistant

    return Assistant(settings)
