"""What the project in the current folder says of itself, for a command that asks the model something."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lacli.cli.terminal import diagnostics

if TYPE_CHECKING:
    from lacli.cli.framework.options import Common
    from lacli.project.instructions import Instructions


def project_instructions(common: Common, is_told: bool = False) -> Instructions | None:
    """The project's AGENTS.md, unless --no-instructions. The user is told that it is used where that `is_told`, and
    wherever only a part of it is."""
    if common.no_instructions:
        return None
    from lacli.project.instructions import find

    found = find(Path(), diagnostics.note)
    if found is not None and (is_told or found.is_cut):
        diagnostics.note(found.note)
    return found
