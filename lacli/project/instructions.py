"""What a project tells assistants about itself, in its AGENTS.md: which file that is, and how much of it is used.

The nearest one counts, from the working folder up to the top of the project. It was written by others, like every file
of a project: it becomes text for the model and nothing else. Reads that one file, never outside the project.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lacli.project.root import checkout, project_root
from lacli.text.invisible import marked

NAME = "AGENTS.md"
MOST = 4_000
"""Characters that are used: about a thousand tokens of every prompt, which small models read slowly as it is."""
_MOST_BYTES = 1 << 20
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FLAGS = os.O_RDONLY
for _name in ("O_CLOEXEC", "O_BINARY", "O_NONBLOCK", "O_NOFOLLOW"):
    _FLAGS |= getattr(os, _name, 0)


@dataclass(frozen=True, slots=True)
class Instructions:
    """What is used of a project's AGENTS.md."""

    label: str
    """Its path, as seen from the working folder."""
    text: str
    size: int
    """Characters of all of it."""

    @property
    def is_cut(self) -> bool:
        """Whether only its beginning is used."""
        return len(self.text) < self.size

    @property
    def note(self) -> str:
        """That it is used, for the user."""
        if self.is_cut:
            return f"using {self.label} up to its {len(self.text):,}th of {self.size:,} characters"
        return f"using {self.label} ({self.size:,} characters)"


def find(folder: Path, note: Callable[[str], None] = lambda text: None) -> Instructions | None:
    """The instructions for work in this folder, if there are any. `note` is told why a file that is there is not used.

    None outside any project: an AGENTS.md of the home folder is nobody's project.
    """
    try:
        here = Path(os.path.realpath(folder))
    except OSError:  # the current folder has been deleted
        return None
    top = checkout(here) or project_root(here)
    places = [here, *here.parents]
    if top is None or top not in places:
        return None
    for place in places[: places.index(top) + 1]:
        path = place / NAME
        if os.path.lexists(path):
            label = os.path.relpath(path, here).replace(os.sep, "/")
            text, why = _read(path, top)
            if why:
                note(f"{label} is not used: {why}")
            return Instructions(label, _beginning(text), len(text)) if text else None
    return None


def _read(path: Path, top: Path) -> tuple[str, str]:
    """The file's text, or why it is not used."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(top):
        return "", "it leads out of the project"
    try:
        descriptor = os.open(real, _FLAGS)
    except OSError as error:
        return "", f"it cannot be read ({error.strerror})"
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return "", "it is no regular file"
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        return "", f"it cannot be read ({error.strerror})"
    finally:
        os.close(descriptor)
    if len(data) > _MOST_BYTES:
        return "", f"it has more than {_MOST_BYTES:,} bytes"
    if b"\0" in data:
        return "", "it is no text"
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return marked(_CONTROLS.sub("", text)).strip(), ""


def _beginning(text: str) -> str:
    """As many whole lines as may be used; of a text without lines, as many characters."""
    if len(text) <= MOST:
        return text
    end = text.rfind("\n", 0, MOST + 1)
    return text[: end if end > 0 else MOST].rstrip()
