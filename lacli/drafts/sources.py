"""All sources of a process, as it begins."""

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
    """Sources that know what is given and nothing else.

    segments: the project's log; tables: of successors, the one that counts most last; numbers: what was learned of how
    far to trust each source, by its name; files: whether an index of the project's files will be supplied; ngrams: the
    static table of the tokenizer.
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
