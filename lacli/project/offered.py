"""Names of files to attach to a question, for pickers: the project's, as git or a walk lists them. No file is opened.

What may hold secrets is never offered, nor what is no text by its name; whoever wants such a file can still name it.
"""

from __future__ import annotations

import os
from pathlib import Path

from lacli.project import skip
from lacli.project.root import project_root
from lacli.project.tracked import tracked_names, untracked_names, walked_names
from lacli.text.invisible import can_be_typed

_NEVER = ("secret", "binary")


def offered_names(folder: Path) -> list[str]:
    """Paths relative to `folder`, of the whole project it lies in; those below it first, else by name."""
    root = project_root(folder)
    found: list[bytes] = []
    if root is not None:
        tracked = tracked_names(root)
        found = walked_names(root) if tracked is None else [*tracked[0], *untracked_names(root)]
    else:
        root = Path(os.path.realpath(folder))
        found = walked_names(root)
    names = [name for name in map(_text, found) if name and skip.by_name(name) not in _NEVER]
    here = os.path.relpath(os.path.realpath(folder), root).replace(os.sep, "/")
    if here == ".":
        return sorted(names)
    up = "../" * (here.count("/") + 1)
    inside = [name[len(here) + 1 :] for name in names if name.startswith(here + "/")]
    return sorted(inside) + sorted(up + name for name in names if not name.startswith(here + "/"))


def _text(name: bytes) -> str:
    """The name, if it can be typed: nothing for one that is not UTF-8, or has a control character."""
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return ""
    return text if can_be_typed(text) else ""
