"""What the commands of `lacli pool` share: which project is meant, and how much may be kept of it.

Imports typer and nothing heavy.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lacli.errors import UsageError

if TYPE_CHECKING:
    from lacli.kv.store import Size
    from lacli.pool.inventory import ProjectInfo
    from lacli.pool.store import Caps

ProjectOption = Annotated[
    Path | None, typer.Option("--project", metavar="DIR", help="The project DIR lies in; default: the current folder.")
]


def project_at(folder: Path | None) -> Path | None:
    """The project that --project means; None where the folder lies in none."""
    from lacli.project.root import project_root

    here = folder if folder is not None else Path(".")
    if not here.is_dir():
        raise UsageError(f"there is no folder {here}", "give --project a folder that exists")
    return project_root(here)


def root_of(folder: Path | None) -> Path:
    """The project a folder lies in."""
    root = project_at(folder)
    if root is None:
        place = (folder or Path()).absolute()
        raise UsageError(
            f"{place} is not a project (nor are the home, temporary and top folders themselves)",
            "change to a folder below it or give --project DIR",
        )
    return root


def project_of(folder: Path | None) -> tuple[Path, ProjectInfo]:
    """The project of a folder and what is known of its pools."""
    from lacli import paths
    from lacli.pool import projects
    from lacli.pool.inventory import project_info

    root = root_of(folder)
    return root, project_info(projects.locate(paths.pools_dir(), root))


def caps(project_mb: float | None = None) -> Caps:
    """How much may be kept: of a project as given or by LACLI_POOL_MB, of all by LACLI_POOLS_MB."""
    from lacli.assistant.project import caps as of_settings
    from lacli.cli.framework import environment
    from lacli.config import Settings

    if project_mb is None:
        project_mb = environment.megabytes(environment.POOL_MB)
    elif not 0 <= project_mb <= environment.MOST_MB:
        raise UsageError(f"--max-mb {project_mb} is out of range", f"give a number from 0 to {environment.MOST_MB:,}")
    return of_settings(Settings(pool_mb=project_mb, pools_mb=environment.megabytes(environment.POOLS_MB)))


def kept_caps() -> Caps:
    """As `caps`, for a command that writes to the disk."""
    from lacli.cli.framework import environment

    for name in (environment.POOL_MB, environment.POOLS_MB):
        if environment.megabytes(name) == 0:
            raise UsageError(f"{name}=0 says that nothing is to be kept", f"unset {name}, or give it megabytes")
    return caps()


def file_indexes(folder: Path) -> list[Path]:
    """The indexes of project files below a project's folder: one for each tokenizer and worktree."""
    from lacli.project.shingles import FILE_NAME

    return sorted(folder.glob(f"*/*{FILE_NAME}"))


def kv_folder(root: Path) -> Path:
    """Where the KV cache of what was read in a project is kept."""
    from lacli import paths
    from lacli.project.root import project_id

    return paths.kv_dir() / project_id(root)


def kv_size(root: Path) -> Size:
    """How much of that there is."""
    from lacli.kv.store import size

    return size([kv_folder(root)])


def shrink_kv() -> int:
    """Bring the KV caches of all projects under their caps; the bytes that freed."""
    from lacli import paths
    from lacli.cli.framework import environment
    from lacli.kv.store import Caps, shrink_all

    sizes = environment.megabytes(environment.KV_MB), environment.megabytes(environment.KVS_MB)
    return shrink_all(paths.kv_dir(), Caps.of_megabytes(*sizes))
