"""`lacli pool`: show and check what the drafts have learned in a project. Loads no model and no torch.

The commands that change something are in the other `pool_*` modules and join `app` here. The document asked for goes to
stdout through `output`, remarks to stderr through `diagnostics`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lacli.cli.framework.flags import JsonOption
from lacli.cli.pool import build as pool_build
from lacli.cli.pool import change as pool_change
from lacli.cli.pool import push as pool_push
from lacli.cli.pool import share as pool_share
from lacli.cli.pool.common import ProjectOption, file_indexes, kv_size, project_of
from lacli.errors import LacliError
from lacli.events import Counts
from lacli.shared.wording import age, counted, counts_record, counts_table, size

if TYPE_CHECKING:
    from lacli.pool.inventory import PoolInfo, ProjectInfo

app = typer.Typer(
    help="What the model has said in a project, kept on this computer to guess faster next time.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    epilog="For example: lacli pool  |  lacli pool build  |  lacli pool info --json  |  lacli pool clear --yes",
)


@app.callback()
def pool(context: typer.Context) -> None:
    """Without a command: `info` on the project of the current folder."""
    if context.invoked_subcommand is None:
        info()


@app.command(epilog="For example: lacli pool info  |  lacli pool info --project ~/src/site  |  lacli pool info --json")
def info(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show what this project's pools hold and have saved."""
    from lacli.cli.terminal import output

    root, described = project_of(project)
    if as_json:
        read = kv_size(root)
        kv = {"tokens": read.positions, "bytes": read.bytes}
        output.document({"project": str(root), **_as_json(described), "kv": kv})
        return
    output.line(f"project   {root}")
    output.line(f"folder    {described.folder}")
    if not described.pools:
        output.line("pools     none yet: the first reply in this project makes one")
        for index in file_indexes(described.folder):
            output.line(f"files     index {size(index.lstat().st_size)}")
    for each in described.pools:
        _show(each)
    read = kv_size(root)
    if read.count:
        output.line(f"kv cache  {read.positions:,} tokens of prompts and replies read before, {size(read.bytes)}")


@app.command("list", epilog="For example: lacli pool list  |  lacli pool list --json")
def list_(as_json: JsonOption = False) -> None:
    """List every project that has a pool, the one used last first."""
    from lacli import paths
    from lacli.cli.terminal import diagnostics, output
    from lacli.pool.inventory import all_projects

    found = all_projects(paths.pools_dir())
    if as_json:
        output.document([{"project": str(each.root) if each.root else None, **_as_json(each)} for each in found])
        return
    if not found:
        diagnostics.note("there are no pools yet")
    for each in found:
        tokens = sum(pool.tokens for pool in each.pools)
        updated = max(pool.updated_s for pool in each.pools)
        output.line(f"{tokens:>11,} tokens  {age(updated, time.time()):>9}  {each.root or each.folder}")


@app.command(epilog="For example: lacli pool path  |  du -sh $(lacli pool path)  |  lacli pool path --project ../site")
def path(project: ProjectOption = None) -> None:
    """Print the folder of this project's pools, which may not exist yet."""
    from lacli.cli.terminal import output

    output.line(str(project_of(project)[1].folder))


@app.command(epilog="For example: lacli pool verify  |  lacli pool verify --project ~/src/site --json && echo sound")
def verify(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Check every byte of what is kept of this project.

    Replies, successor table, numbers and the index of files. Exit code 1 if one is damaged. Changes nothing.
    """
    from lacli.cli.terminal import diagnostics, output

    _, described = project_of(project)
    damaged = [(path, what) for pool in described.pools for path, what in _damages(pool)]
    bad = {path.parent for path, _ in damaged}
    if as_json:
        output.document(
            {
                "pools": [str(pool.path) for pool in described.pools],
                "damaged": [{"path": str(path), "damage": what} for path, what in damaged],
            }
        )
    elif not described.pools:
        diagnostics.note("there is no pool to check")
    else:
        for pool in described.pools:
            if pool.path.parent not in bad:
                output.line(f"sound  {pool.path}")
        for path, what in damaged:
            output.line(f"damaged  {path}: {what}")
    if damaged and all(pool.torn for pool in described.pools if pool.path.parent in bad) and len(damaged) == len(bad):
        raise LacliError("the last entry of a pool is incomplete", "the next reply in this project repairs it")
    if damaged:
        raise LacliError(
            "a pool is damaged", "the next reply starts a new one and keeps this aside; or: lacli pool clear"
        )


def _damages(pool: PoolInfo) -> Iterator[tuple[Path, str]]:
    """What is wrong with the files of one pool."""
    from lacli.pool import numbers
    from lacli.pool import space as storage
    from lacli.project import shingles

    if pool.damage:
        yield pool.path, pool.damage
    if pool.table_damage:
        yield pool.path.with_name(storage.TABLE_NAME), pool.table_damage
    beside = pool.path.with_name(numbers.NAME)
    if os.path.lexists(beside) and not numbers.read(beside).held:
        yield beside, "cannot be understood"
    for path in file_indexes(pool.path.parent.parent):
        if path.parent == pool.path.parent and pool.tokenizer and shingles.load(path, pool.tokenizer) is None:
            yield path, "cannot be understood"


def _show(pool: PoolInfo) -> None:
    from lacli.cli.terminal import output

    output.line(f"pool      {pool.path}")
    for what in (f"the file {pool.damage}" if pool.damage else "", _of_table(pool)):
        if what:
            output.line(f"  state   {what}")
    made = f", made {age(pool.created_s, time.time())}" if pool.created_s else ""
    output.line(
        f"  holds   {pool.tokens:,} tokens in {counted(pool.segments, 'reply', 'replies')}, {size(pool.byte_size)}"
    )
    if pool.table_entries:
        output.line(f"  table   {pool.table_entries:,} entries of likely successors, {size(pool.table_bytes)}")
    for index in _of_files(pool):
        files = counted(index["files"], "file", "files")
        output.line(f"  files   {files} of {index['tokens']:,} tokens, index {size(index['bytes'])}")
    since = f", oldest reply said {age(pool.oldest_s, time.time())}" if pool.segments else ""
    output.line(f"  age     used {age(pool.updated_s, time.time())}{made}{since}")
    if pool.segments:
        lately = counted(round(pool.value), "token", "tokens")
        output.line(f"  of use  {counted(pool.hits, 'reply', 'replies')} so far, {lately} lately")
    output.line(f"  model   {pool.model or 'unknown'}, tokenizer {pool.tokenizer[:16] or 'unknown'}")
    if pool.totals:
        output.line(f"  so far  in {counted(Counts.of_totals(pool.totals).replies, 'reply', 'replies')}")
        for line in counts_table([("", Counts.of_totals(pool.totals))]):
            output.line(f"    {line}")


def _of_table(pool: PoolInfo) -> str:
    return f"the successor table {pool.table_damage}" if pool.table_damage else ""


def _of_files(pool: PoolInfo) -> Iterator[dict[str, Any]]:
    """The indexes of project files that belong to this pool's tokenizer: one for each worktree."""
    from lacli.project import shingles

    for path in file_indexes(pool.path.parent.parent):
        if path.parent == pool.path.parent:
            index = shingles.load(path, pool.tokenizer)
            read = [entry.tokens for entry in index.entries.values() if entry.tokens] if index is not None else []
            yield {"path": str(path), "files": len(read), "tokens": sum(read), "bytes": path.lstat().st_size}


def _as_json(described: ProjectInfo) -> dict[str, Any]:
    pools = [
        {
            "path": str(pool.path),
            "tokenizer": pool.tokenizer,
            "model": pool.model,
            "tokens": pool.tokens,
            "segments": pool.segments,
            "bytes": pool.byte_size,
            "created": round(pool.created_s),
            "updated": round(pool.updated_s),
            "oldest": round(pool.oldest_s),
            "newest": round(pool.newest_s),
            "table_entries": pool.table_entries,
            "table_bytes": pool.table_bytes,
            "files": list(_of_files(pool)),
            "hits": pool.hits,
            "value": round(pool.value, 1),
            "totals": _totals(pool),
            "damage": pool.damage or pool.table_damage or None,
        }
        for pool in described.pools
    ]
    total = {"tokens": sum(pool.tokens for pool in described.pools), "bytes": sum(p.byte_size for p in described.pools)}
    return {"folder": str(described.folder), **total, "pools": pools}


def _totals(pool: PoolInfo) -> dict[str, Any]:
    """The counters of all replies, under the names of `--stats`."""
    counts = Counts.of_totals(pool.totals)
    return {"replies": counts.replies, **counts_record(counts)}


app.command(epilog=pool_build.EXAMPLES)(pool_build.build)
app.command(epilog=pool_change.PRUNE_EXAMPLES)(pool_change.prune)
app.command(epilog=pool_change.CLEAR_EXAMPLES)(pool_change.clear)
app.command(epilog=pool_share.EXPORT_EXAMPLES)(pool_share.export)
app.command("import", epilog=pool_share.IMPORT_EXAMPLES)(pool_share.import_)
app.command(epilog=pool_push.EXAMPLES)(pool_push.push)
