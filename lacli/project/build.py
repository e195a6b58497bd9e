"""`lacli pool build [PATH…]`: index a project's files at once, in the foreground."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.errors import LacliError, UsageError
from lacli.project.indexing import Indexer, ProjectPaths, project_paths

if TYPE_CHECKING:
    from lacli.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What was done."""

    files: int
    """Files that drafts can be read from now."""
    skipped: Mapping[str, int]
    """Files left out, by reason, the most frequent first."""
    tokens: int
    """Tokens of those files."""
    seconds: float
    """Time it took."""
    disk_bytes: int
    """Size of the index: hashes, no text."""
    path: Path
    """Where it lies."""


def build(
    folder: Path, paths: Sequence[Path], tokenizer: Tokenizer, report: Callable[[int, int], None] | None = None
) -> BuildReport:
    """Index the project `folder` lies in: its tracked files, and those at and below `paths`, tracked or not.

    `paths` are taken as they are, so relative ones from the current folder; later runs keep them up to date.
    `report` is told files done and files in all. Raises UsageError for what cannot be built, LacliError for the disk.
    """
    started = time.perf_counter()
    place = project_paths(folder, tokenizer.fingerprint, writes=True)
    if place is None:
        raise UsageError(
            f"{folder.absolute()} is no project (the home, temporary and top folder themselves are none)",
            "change to a folder below it",
        )
    if not paths and not place.has_git:
        raise UsageError(f"{place.root} is no git repository", "name what to read: lacli pool build PATH…")
    for path in paths:
        _check(path, place)
    indexer = Indexer(place, tokenizer)
    indexer.survey(paths)
    if indexer.git_failed and not paths:
        raise UsageError(
            f"git does not tell which files it tracks in {place.top}",
            f"see what `git -C {place.top} ls-files` says, or name what to read: lacli pool build PATH…",
        )
    total = len(indexer.todo)
    while indexer.todo:
        indexer.next_file()
        if report is not None:
            report(total - len(indexer.todo), total)
    try:
        size = indexer.save()
    except OSError as error:
        raise LacliError(f"the index cannot be written: {error.strerror or error}", f"see {place.index}") from error
    files, tokens = indexer.indexed
    skipped = {reason: count for reason, count in indexer.skipped.most_common()}
    return BuildReport(files, skipped, tokens, time.perf_counter() - started, size, place.index)


def _check(path: Path, place: ProjectPaths) -> None:
    if not os.path.lexists(path):
        raise UsageError(f"there is no {path}", "give files and folders that exist")
    real = Path(os.path.realpath(path.parent)) / path.name if path.name else Path(os.path.realpath(path))
    if Path(os.path.normpath(real)) != place.top and place.top not in Path(os.path.normpath(real)).parents:
        raise UsageError(f"{path} lies outside the project {place.top}", "change to its project first")
