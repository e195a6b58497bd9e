"""The project's pool on disk and the memory the engine uses. Slow: to be called in threads."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lacli.errors import LacliError
from lacli.events import Counts


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """What a project has taught the drafts, and what that was good for."""

    tokens: int = 0
    """In the pool that was written last."""
    counts: Counts = field(default_factory=Counts)
    """Over all replies ever given in this project."""


def pool_facts(folder: Path) -> PoolFacts | None:
    """For the project a folder belongs to; None if it has no pools. Reads a few small files."""
    from lacli import paths
    from lacli.pool import projects
    from lacli.pool.inventory import project_info
    from lacli.project.root import project_root

    try:
        root = project_root(folder)
        if root is None:
            return None
        info = project_info(projects.locate(paths.pools_dir(), root), quick=True)
    except (LacliError, OSError):
        return None
    counts = sum((Counts.of_totals(pool.totals) for pool in info.pools), Counts())
    newest = max(info.pools, key=lambda pool: pool.updated_s, default=None)
    return PoolFacts(newest.tokens if newest is not None else 0, counts)


def memory_mb(pid: int | None) -> float | None:
    """The memory a process uses; None if it is gone or does not say."""
    import psutil

    if pid is None:
        return None
    try:
        return float(psutil.Process(pid).memory_info().rss) / 2**20
    except (psutil.Error, OSError):
        return None
