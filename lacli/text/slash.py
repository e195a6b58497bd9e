"""What is typed at a prompt as a slash command: which word, what stands behind it, and what a wrong one may have meant.

Pure. Which commands there are is each front end's own; called by the chat and the terminal UI.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_NEAR = 0.5
_ALIKE = 0.7
"""How near a word must be to a command to be taken for a typing mistake where a question follows it."""


def split(typed: str) -> tuple[str, str] | None:
    """The word behind the slash as it was typed, and the rest; None where this is no command."""
    found = re.fullmatch(r"\s*/([A-Za-z?]+)(?:\s+(.*))?", typed, re.DOTALL)
    return None if found is None else (found[1], (found[2] or "").strip())


def meant(word: str, rest: str, known: Iterable[str]) -> str:
    """The command that was meant by a word that is none, perhaps; with more behind it the word may be a path's."""
    near = difflib.get_close_matches(word.lower(), known, 1, _ALIKE if rest else _NEAR)
    return near[0] if near else ""
