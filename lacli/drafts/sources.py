"""Creates the draft sources of a process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lacli.drafts.base import DraftSource, Sources, StaticFollowers
from lacli.drafts.lookup import FilesSource, PredictionSource, ProjectSource, PromptSource, SessionSource
from lacli.drafts.successor import SuccessorSource, SuccessorTable


def new_sources(
    segments: Sequence[Sequence[int] | np.ndarray],
    tables: Iterable[SuccessorTable],
    numbers: Mapping[str, Sequence[float]],
    *,
    files: bool = False,
    ngrams: StaticFollowers | None = None,
) -> Sources:
    """New sources, initialised with what is given.

    segments: of the project's pool; tables: successor tables, later ones take precedence; numbers: stored calibration
    by source name; files: whether an index of the project's files will be supplied; ngrams: the tokenizer's static
    table.
    """
    successors = SuccessorSource(ngrams)
    for table in tables:
        successors.load(*table)
    drafts: list[DraftSource] = [PredictionSource(), PromptSource(), SessionSource()]
    if segments:
        drafts.append(ProjectSource(segments))
    if files:
        drafts.append(FilesSource())
    sources = Sources(tuple(drafts), successors)
    for source in sources.all():
        if source.name in numbers:
            source.restore(numbers[source.name])
    return sources
