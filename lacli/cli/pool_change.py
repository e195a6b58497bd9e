"""`lacli pool clear` and `prune`: making pools smaller or none. Registered by `pool`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import typer

from lacli.cli.pool_common import ProjectOption, YesOption, confirmed, project_of, size
from lacli.errors import LacliError

CLEAR_EXAMPLES = "For example: lacli pool clear  |  lacli pool clear --yes --project ~/src/site"


def clear(project: ProjectOption = None, yes: YesOption = False) -> None:
    """Delete this project's pools.

    The damaged ones that were kept aside go, too.
    """
    from lacli.cli import diagnostics
    from lacli.pool import inventory

    root, described = project_of(project)
    if described.pools:
        tokens = sum(pool.tokens for pool in described.pools)
        if not confirmed(f"Delete the {tokens:,} tokens learned in {root}?", yes):
            diagnostics.note("nothing was deleted")
            raise typer.Exit(1)
    with changing(described.folder):
        freed = inventory.clear(described.folder)
    diagnostics.note(f"deleted {size(freed)}" if freed else "there was nothing to delete")


@contextlib.contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Failures of the disk and of locks in words."""
    try:
        yield
    except TimeoutError as error:
        raise LacliError("another lacli is writing this pool", "try again in a moment") from error
    except OSError as error:
        raise LacliError(f"the pool cannot be changed: {error.strerror}", f"see {folder}") from error
