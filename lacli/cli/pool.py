"""`lacli pool`: show and check what the drafts have learned in a project. Loads no model and no torch.

The commands that change something are in the other `pool_*` modules and join `app` here. The document asked for goes to
stdout through `output`, remarks to stderr through `diagnostics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from lacli.cli import pool_change
from lacli.cli.pool_common import JsonOption, ProjectOption, age, project_of, size
from lacli.errors import LacliError

if TYPE_CHECKING:
    from lacli.pool.inventory import PoolInfo, ProjectInfo

app = typer.Typer(
    help="What the model has said in a project, kept on this computer to guess faster next time.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    epilog="For example: lacli pool  |  lacli pool info --json  |  lacli pool clear --yes",
)


@app.callback()
def pool(context: typer.Context) -> None:
    """Without a command: `info` on the project of the current folder."""
    if context.invoked_subcommand is None:
        info()


@app.command(epilog="For example: lacli pool info  |  lacli pool info --project ~/src/site  |  lacli pool info --json")
def info(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show what this project's pools hold and what they have saved so far."""
    from lacli.cli import output

    root, described = project_of(project)
    if as_json:
        output.document({"project": str(root), **_as_json(described)})
        return
    output.line(f"project   {root}")
    output.line(f"folder    {described.folder}")
    if not described.pools:
        output.line("pools     none yet: the first reply in this project makes one")
    for each in described.pools:
        _show(each)


@app.command("list", epilog="For example: lacli pool list  |  lacli pool list --json")
def list_(as_json: JsonOption = False) -> None:
    """List every project that has a pool, the one used last first."""
    from lacli import paths
    from lacli.cli import diagnostics, output
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
        output.line(f"{tokens:>11,} tokens  {age(updated):>9}  {each.root or each.folder}")


@app.command(epilog="For example: lacli pool path  |  du -sh $(lacli pool path)  |  lacli pool path --project ../site")
def path(project: ProjectOption = None) -> None:
    """Print the folder of this project's pools, which may not exist yet."""
    from lacli.cli import output

    output.line(str(project_of(project)[1].folder))


@app.command(epilog="For example: lacli pool verify  |  lacli pool verify --project ~/src/site && echo sound")
def verify(project: ProjectOption = None) -> None:
    """Check every byte of this project's pools.

    Exit code 1 if one is damaged. Changes nothing.
    """
    from lacli.cli import diagnostics, output

    _, described = project_of(project)
    if not described.pools:
        diagnostics.note("there is no pool to check")
    for each in described.pools:
        output.line(f"{'damaged' if each.damage else 'sound'}  {each.path}{': ' if each.damage else ''}{each.damage}")
    damaged = [each for each in described.pools if each.damage]
    if damaged and all(each.torn for each in damaged):
        raise LacliError("the last entry of a pool is incomplete", "the next reply in this project repairs it")
    if damaged:
        raise LacliError(
            "a pool is damaged", "the next reply starts a new one and keeps this aside; or: lacli pool clear"
        )


def _show(pool: PoolInfo) -> None:
    from lacli.cli import output

    output.line(f"pool      {pool.path}")
    if pool.damage:
        output.line(f"  state   the file {pool.damage}")
    made = f", made {age(pool.created_s)}" if pool.created_s else ""
    replies = "reply" if pool.segments == 1 else "replies"
    output.line(f"  holds   {pool.tokens:,} tokens in {pool.segments:,} {replies}, {size(pool.byte_size)}")
    output.line(f"  age     used {age(pool.updated_s)}{made}")
    output.line(f"  model   {pool.model or 'unknown'}, tokenizer {pool.tokenizer[:16] or 'unknown'}")


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
            "damage": pool.damage or None,
        }
        for pool in described.pools
    ]
    total = {"tokens": sum(pool.tokens for pool in described.pools), "bytes": sum(p.byte_size for p in described.pools)}
    return {"folder": str(described.folder), **total, "pools": pools}


app.command(epilog=pool_change.CLEAR_EXAMPLES)(pool_change.clear)
