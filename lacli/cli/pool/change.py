"""`lacli pool clear` and `prune`: making pools smaller or none. Registered by `pool`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from lacli.cli.framework.flags import JsonOption, YesOption
from lacli.cli.pool.common import ProjectOption, caps, kv_folder, kv_size, project_of, shrink_kv
from lacli.cli.terminal.confirm import confirm
from lacli.shared.wording import prune_summary, size

CLEAR_EXAMPLES = "For example: lacli pool clear  |  lacli pool clear --yes --project ~/src/site"
PRUNE_EXAMPLES = (
    "For example: lacli pool prune  |  lacli pool prune --max-mb 16  |  lacli pool prune --gone --yes --json"
)


def clear(project: ProjectOption = None, yes: YesOption = False) -> None:
    """Delete what was learned in this project.

    The index of its files, the table of successors, the KV cache of what was read and the damaged pools that were kept
    aside go, too.
    """
    from lacli.cli.terminal import diagnostics
    from lacli.kv import store as kv
    from lacli.pool import inventory
    from lacli.pool import space as storage
    from lacli.pool.inventory import changing

    root, described = project_of(project)
    read = kv_size(root)
    if storage.pools_of(described.folder) or read.count:
        tokens = sum(pool.tokens for pool in described.pools)
        what = f"the {tokens:,} tokens learned" if tokens else "all that was kept"
        if read.count:
            what += f" and {size(read.bytes)} of what was read"
        if not confirm(f"Delete {what} in {root}?", yes):
            diagnostics.note("nothing was deleted")
            raise typer.Exit(1)
    with changing(described.folder):
        freed = inventory.clear(described.folder)
    with changing(kv_folder(root)):
        freed += kv.clear(kv_folder(root)).bytes
    diagnostics.note(f"deleted {size(freed)}" if freed else "there was nothing to delete")


def prune(
    max_mb: Annotated[
        float | None, typer.Option(help="Keep this many megabytes of a project; default: LACLI_POOL_MB, or 64.")
    ] = None,
    gone: Annotated[
        bool, typer.Option("--gone", help="Delete the pools of projects that no longer exist, too.")
    ] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Bring all pools below their caps and delete what was left over.

    LACLI_POOL_MB caps what is kept of one project (64), LACLI_POOLS_MB of all (1000); LACLI_KV_MB and LACLI_KVS_MB cap
    the KV cache of what was read (512 and 2000).
    """
    from lacli import paths
    from lacli.cli.terminal import diagnostics, output
    from lacli.pool.inventory import changing
    from lacli.pool.prune import prune as run
    from lacli.pool.prune import vanished as find_vanished

    pools, most = paths.pools_dir(), caps(max_mb)
    vanished = find_vanished(pools) if gone else []
    if vanished:
        for root in vanished:
            diagnostics.plain_line(str(root))
        count = "this project" if len(vanished) == 1 else f"these {len(vanished)} projects"
        if not confirm(f"Delete what was learned in {count}, which can no longer be found?", yes):
            diagnostics.note("nothing was deleted")
            raise typer.Exit(1)
    with changing(pools):
        done = run(pools, most, vanished)
        done = replace(done, freed_bytes=done.freed_bytes + shrink_kv())
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
    output.line(prune_summary(done))
