"""How commands store a turn: `recorder(common, kind).turn(question, finished)`; see `Recorder`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacli.cli.terminal import diagnostics
from lacli.sessions.recorder import Recorder

if TYPE_CHECKING:
    from lacli.cli.framework.options import Common


def recorder(common: Common, kind: str) -> Recorder:
    """The recorder of one run of a command; `kind` is its name."""
    return Recorder(kind, diagnostics.notice, keep=not common.no_log, system=common.system or "")
