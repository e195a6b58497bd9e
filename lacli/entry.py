"""The console scripts. What they run is imported once an early Ctrl-C is taken care of."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lacli import early_interrupt


def lacli() -> int:
    """`lacli`, and `python -m lacli`."""
    return _run(None)


def lacli_tui() -> int:
    """`lacli-tui`: `lacli tui` with the same arguments."""
    return _run(["tui", *sys.argv[1:]])


def _run(arguments: Sequence[str] | None) -> int:
    early_interrupt.begin()
    from lacli.cli.main import main

    return main(arguments)
