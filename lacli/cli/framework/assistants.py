"""Who answers a command: the engine of `lacli serve`, where one runs that fits, else a model in this process."""

from __future__ import annotations

from lacli.assistant.base import BatchReplier
from lacli.cli.framework.options import Common
from lacli.cli.terminal import diagnostics
from lacli.config import Settings


def assistant(common: Common, settings: Settings | None = None) -> BatchReplier:
    """An assistant for these options, or for `settings` that they led to."""
    settings = settings or common.settings()
    if common.attach:
        from lacli.server.background import reach

        found = reach(settings, common.auto_serve, diagnostics.note)
        if found is not None:
            return found
    from lacli.assistant.assistant import Assistant

    return Assistant(settings)
