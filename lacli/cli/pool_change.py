"""`lacli pool clear` and `prune`: making pools smaller or none. Registered by `pool`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lacli.cli.pool_common import JsonOption, ProjectOption, YesOption, caps, confirmed, project_of, size
from lacli.cli.render import counted
from lacli.errors import LacliError

if TYPE_CHECKING:
    from lacli.pool.prune import Pruned

CLEAR_EXAMPLES = "For example: lacli pool clear  |  lacli pool clear --yes --project ~/src/site"
PRUNE_EXAMPLES = (
    "For example: lacli pool prune  |  lacli pool prune --max-mb 16  |  lacli pool prune --gone --yes --json"
)


def clear(project: ProjectOption = None, yes: YesOption = False) -> None:
    """Delete what was learned in this project.

    The index of its files, the table of successors and the damaged pools that were kept aside go, too.
    """
    from lacli.cli import diagnostics
    from lacli.pool import inventory, storage

    root, described = project_of(project)
    if storage.pools_of(described.folder):
        tokens = sum(pool.tokens for pool in described.pools)
        what = f"the {tokens:,} tokens learned" if tokens else "all that was kept"
        if not confirmed(f"Delete {what} in {root}?", yes):
            diagnostics.note("nothing was deleted")
            raise typer.Exit(1)
    with _changing(described.folder):
        freed = inventory.clear(described.folder)
    diagnostics.note(f"deleted {size(freed)}" if freed else "there was nothing to delete")


def prune(
    max_mb: Annotated[
        float | None, typer.Option(help="Keep so many megabytes of a project; default: LACLI_POOL_MB, or 64.")
    ] = None,
    gone: Annotated[
        bool, typer.Option("--gone", help="Delete the pools of projects that no longer exist, too.")
    ] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Bring all pools below their caps and delete what was left over.

    LACLI_POOL_MB caps what is kept of one project (64), LACLI_POOLS_MB of all (1000).
    """
    from lacli import paths
    from lacli.cli import diagnostics, output
    from lacli.pool.prune import prune as run
    from lacli.pool.prune import vanished as find_vanished

    pools, most = paths.pools_dir(), caps(max_mb)
    vanished = find_vanished(pools) if gone else []
    if vanished:
        for root in vanished:
            diagnostics.plain_line(str(root))
        count = "this project" if len(vanished) == 1 else f"these {len(vanished)} projects"
        if not confirmed(f"Delete what was learned in {count}, which can no longer be found?", yes):
            diagnostics.note("nothing was deleted")
            raise typer.Exit(1)
    with _changing(pools):
        done = run(pools, most, vanished)
    for notice in done.notices:
        diagnostics.warning(notice)
    if as_json:
        output.document(
            {
                "freed_bytes": done.freed_bytes,
                "compacted": done.compacted,
                "deleted": done.deleted,
                "vanished": [str(root) for root in done.vanished],
            }
        )
        return
    output.line(_told(done))


def _told(done: Pruned) -> str:
    """What was done, in one line."""
    parts = [f"{counted(done.compacted, 'pool', 'pools')} compacted"] if done.compacted else []
    if done.deleted:
        parts.append(f"{done.deleted:,} deleted (all together were too large)")
    if done.vanished:
        whose = "its project is gone" if len(done.vanished) == 1 else "their projects are gone"
        parts.append(f"{len(done.vanished):,} deleted ({whose})")
    if done.freed_bytes or parts:
        freed = size(done.freed_bytes) if done.freed_bytes else "nothing"
        return f"freed {freed}: {', '.join(parts) or 'what was left over'}"
    return "freed nothing" if done.notices else "nothing to do: all pools are below their caps"


@contextlib.contextmanager
def _changing(folder: Path) -> Iterator[None]:
    """Failures of the disk and of locks in words."""
    try:
        yield
    except TimeoutError as error:
        raise LacliError("another lacli is writing this pool", "try again in a moment") from error
    except OSError as error:
        raise LacliError(f"the pool cannot be changed: {error.strerror}", f"see {folder}") from error
