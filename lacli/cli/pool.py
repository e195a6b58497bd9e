"""`lacli pool`: show, check and clear what the drafts have learned in a project. Loads no model and no torch.

The document asked for goes to stdout through `output`, remarks to stderr through `diagnostics`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lacli.errors import LacliError, UsageError

if TYPE_CHECKING:
    from lacli.pool.inventory import PoolInfo, ProjectInfo

app = typer.Typer(
    help="What the model has said in a project, kept on this computer to guess faster next time.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    epilog="For example: lacli pool  |  lacli pool info --json  |  lacli pool clear --yes",
)

ProjectOption = Annotated[
    Path | None, typer.Option("--project", metavar="DIR", help="The project DIR lies in; default: the current folder.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON value instead of lines.")]


@app.callback()
def pool(context: typer.Context) -> None:
    """Without a command: `info` on the project of the current folder."""
    if context.invoked_subcommand is None:
        info()


@app.command(epilog="For example: lacli pool info  |  lacli pool info --project ~/src/site  |  lacli pool info --json")
def info(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show where this project's pools are and what they hold."""
    from lacli.cli import output

    root, described = _project(project)
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
        output.line(f"{tokens:>11,} tokens  {_age(updated):>9}  {each.root or each.folder}")


@app.command(epilog="For example: lacli pool path  |  du -sh $(lacli pool path)  |  lacli pool path --project ../site")
def path(project: ProjectOption = None) -> None:
    """Print the folder of this project's pools, which may not exist yet."""
    from lacli.cli import output

    output.line(str(_project(project)[1].folder))


@app.command(epilog="For example: lacli pool clear  |  lacli pool clear --yes --project ~/src/site")
def clear(
    project: ProjectOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete this project's pools.

    The damaged ones that were kept aside go, too.
    """
    from lacli.cli import diagnostics
    from lacli.pool import inventory

    root, described = _project(project)
    if not yes and described.pools:
        tokens = sum(pool.tokens for pool in described.pools)
        if sys.stdin is None or not sys.stdin.isatty():
            raise UsageError("nobody can be asked before deleting, as stdin is no terminal", "add --yes")
        if not typer.confirm(f"Delete the {tokens:,} tokens learned in {root}?", err=True):
            diagnostics.note("nothing was deleted")
            raise typer.Exit(1)
    try:
        freed = inventory.clear(described.folder)
    except TimeoutError as error:
        raise LacliError("another lacli is writing this pool", "try again in a moment") from error
    except OSError as error:
        raise LacliError(f"the pool cannot be deleted: {error.strerror}", f"see {described.folder}") from error
    diagnostics.note(f"deleted {_size(freed)}" if freed else "there was nothing to delete")


@app.command(epilog="For example: lacli pool verify  |  lacli pool verify --project ~/src/site && echo sound")
def verify(project: ProjectOption = None) -> None:
    """Check every byte of this project's pools.

    Exit code 1 if one is damaged. Changes nothing.
    """
    from lacli.cli import diagnostics, output

    _, described = _project(project)
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


def _project(folder: Path | None) -> tuple[Path, ProjectInfo]:
    """The project of a folder and what is known of its pools."""
    from lacli import paths
    from lacli.pool import projects
    from lacli.pool.identity import project_root
    from lacli.pool.inventory import project_info

    here = folder if folder is not None else Path(".")
    if not here.is_dir():
        raise UsageError(f"there is no folder {here}", "give --project a folder that exists")
    root = project_root(here)
    if root is None:
        raise UsageError(
            f"{here.absolute()} is no project (the home, temporary and top folder themselves are none)",
            "change to a folder below it or give --project DIR",
        )
    return root, project_info(projects.locate(paths.pools_dir(), root))


def _show(pool: PoolInfo) -> None:
    from lacli.cli import output

    output.line(f"pool      {pool.path}")
    if pool.damage:
        output.line(f"  state   the file {pool.damage}")
    made = f", made {_age(pool.created_s)}" if pool.created_s else ""
    replies = "reply" if pool.segments == 1 else "replies"
    output.line(f"  holds   {pool.tokens:,} tokens in {pool.segments:,} {replies}, {_size(pool.byte_size)}")
    output.line(f"  age     used {_age(pool.updated_s)}{made}")
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


def _age(since_s: float) -> str:
    seconds = max(0.0, time.time() - since_s)
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name} ago"
    return "just now"


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{max(1, round(count / 1_000))} kB"
