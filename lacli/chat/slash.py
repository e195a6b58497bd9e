"""What is typed at a prompt as a slash command: which word, what stands behind it, and what a wrong one may have meant.

A line `/word …` is a command or nothing: it is never sent, unless `/word` is a path that exists. A blank before it
makes it a question, which is sent without the blank. Pure, but for that look at a path. Which commands there are is
each front end's own.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from lacli.errors import UsageError

_TYPED = re.compile(r"/((?:[^\W\d_]|\?)[^\s/]*)(?:\s+(.*))?", re.DOTALL)
_NUMBERED = re.compile(r"(\d+)(?:\s+(.*))?", re.DOTALL)
_NEAR = 0.6
_SENDS = " blank before it sends it as a question"


def command(typed: str, known: Mapping[str, bool]) -> tuple[str, str] | None:
    """Which of the known commands this is, and what stands behind it; None where it is a question.

    `known` says which of them take something. Raises UsageError for what is neither.
    """
    found = _TYPED.fullmatch(typed)
    if found is None:
        return None
    word, name, rest = found[1], found[1].lower(), (found[2] or "").strip()
    if name not in known:
        if _is_at_root(word):
            return None
        near = difflib.get_close_matches(name, known, 1, _NEAR)
        remedy = f"did you mean /{near[0]}? A{_SENDS}" if near else f"/help lists them; a{_SENDS}"
        raise UsageError(f"there is no command /{word}", remedy)
    if rest and not known[name]:
        raise UsageError(f"/{name} takes nothing after it", f"a{_SENDS}")
    return name, rest


def _is_at_root(name: str) -> bool:
    """Whether there is such a file or folder. It is not looked at itself: it may be a disk that does not answer."""
    try:
        return name in os.listdir("/")
    except OSError:
        return False


def question(typed: str) -> str:
    """What is sent of a question: the blank that kept it from being a command is not."""
    words = typed.lstrip(" \t")
    return words if _TYPED.fullmatch(words) else typed


def as_typed(question: str) -> str:
    """A question as it must stand at the prompt to be one."""
    return f" {question}" if _TYPED.fullmatch(question) else question


def numbered(rest: str) -> tuple[str, str]:
    """The whole number at the start of what stands behind a command, empty where there is none, and what follows it."""
    found = _NUMBERED.fullmatch(rest)
    return ("", rest) if found is None else (found[1], found[2] or "")


def path_of(typed: str) -> Path:
    """A path as it was typed behind a command, in quotes or not."""
    quoted = len(typed) > 1 and typed[0] == typed[-1] and typed[0] in "\"'"
    return Path(os.path.expanduser(typed[1:-1] if quoted else typed))
