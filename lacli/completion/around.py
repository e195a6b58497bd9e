"""What a completion is shown of the project beside its own file: for every front end that completes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from lacli.configuration.remotes import is_remote
from lacli.errors import LacliError
from lacli.events import Attachment

_AROUND = 4_000
"""Characters on either side of the cursor that pieces of other files are compared with, about."""
_HEAD = 1 << 16
"""Characters at a file's beginning in which its imports are looked for."""


def project_of(path: str) -> Path | None:
    """The root of the project that a file is in, also one that is not there yet; empty: of the current folder."""
    from lacli.project.root import project_root

    return project_root(Path(os.path.dirname(os.path.abspath(path or "x"))))


def other_files(
    text: str,
    at: int,
    path: str,
    root: Path | None,
    model: str | None,
    language: str = "",
    named: Sequence[Path] = (),
    searched: bool = True,
    note: Callable[[str], None] = lambda text: None,
) -> tuple[tuple[Attachment, ...], int]:
    """Pieces of other files for a place in this text, and how many of them, from the first on, are of `named` ones.

    The others are `searched` for in the project, where the model has a form for such. `note` is told what was named and
    may not be shown.
    """
    searched = searched and root is not None
    if not named and not (searched and _takes_files(model)):
        return (), 0
    from lacli.completion.anchors import between
    from lacli.project.neighbours import count_named, neighbours
    from lacli.text.languages import language_of

    top = root or Path(os.path.abspath("."))
    name = os.path.relpath(os.path.realpath(path or "untitled"), os.path.realpath(top)).replace(os.sep, "/")
    around, head = between(text, at, _AROUND), text[:_HEAD]
    found = neighbours(head, around, name, top, language_of(path, head, language), named, searched, note)
    return found, count_named(found, named, top)


def _takes_files(model: str | None) -> bool:
    """Whether a model's form has a place for other files; of one that is not registered only its vocabulary tells. To
    a remote only those files are sent that were named."""
    if is_remote(model):
        return False
    from lacli.models.registry.registry import load_registry

    try:
        spec = load_registry().resolve(model)
    except LacliError:  # whoever loads the model reports it
        return False
    return spec.path is not None or (spec.fim is not None and bool(spec.fim.file_separator))
