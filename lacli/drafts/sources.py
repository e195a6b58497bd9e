"""All sources together, as a process begins with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lacli.drafts.base import DraftSource
from lacli.drafts.lookup import FilesSource, ProjectSource, PromptSource, SessionSource
from lacli.drafts.successor import SuccessorSource, Table


def new_sources(
    segments: Sequence[Sequence[int] | np.ndarray],
    tables: Iterable[Table],
    numbers: Mapping[str, Sequence[float]],
    *,
    files: bool = False,
) -> list[DraftSource]:
    """In the order that decides between equal promises; they know what is given and nothing else.

    segments: the project's log; tables: of successors, the one that counts most last; numbers: what was learned of how
    far to trust each source, by its name; files: whether somebody will hand over an index of the project's files.
    """
    successors = SuccessorSource()
    for table in tables:
        successors.load(*table)
    sources: list[DraftSource] = [
        PromptSource(),
        SessionSource(),
        *([ProjectSource(segments)] if segments else []),
        *([FilesSource()] if files else []),
        successors,
    ]
    for source in sources:
        if source.name in numbers:
            source.restore(numbers[source.name])
    return sources
