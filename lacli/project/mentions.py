"""How many other files of a project have a word, so that whoever renames something knows where else it may be used.

Only counted where that is quick: nothing is said of a project of many files, and large files are passed over.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from lacli.project.offered import offered_names
from lacli.project.root import project_root

_MOST_FILES = 2_000
_MOST_BYTES = 1 << 18
"""Of a file; larger ones are seldom written by hand."""


def files_with(words: tuple[str, ...], beside: Path) -> int:
    """The number of files with one of these words, besides this one of the same project.

    0 where there is no project, where it is large, and where its files are not those of this checkout.
    """
    own = os.path.realpath(beside)
    folder = os.path.dirname(own)
    if project_root(Path(folder)) is None:
        return 0
    paths = [os.path.normpath(os.path.join(folder, name)) for name in offered_names(Path(folder))]
    if len(paths) > _MOST_FILES or own not in paths:
        return 0
    whole = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in words))
    return sum(_has(Path(path), whole) for path in paths if path != own)


def _has(path: Path, whole: re.Pattern[str]) -> bool:
    try:
        # what a link leads to may be no file of the project, or one that may hold secrets
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return False
        return whole.search(path.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:  # gone since it was listed, or not readable
        return False
