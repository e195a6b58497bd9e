"""Parsing of what is typed at a prompt: a slash command with its arguments, or a question.

A line `/word …` is a command or an error: it is never sent, unless `/word` is a path that exists. A blank before it
makes it a question, which is sent without the blank. Pure, but for the look at that path.
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
    """The command that was typed and its arguments; None if this is a question.

    `known` tells which commands take arguments. Raises UsageError if it is neither.
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
    """Whether there is such a file or folder. Only its name is looked up: it may be on a disk that hangs."""
    try:
        return name in os.listdir("/")
    except OSError:
        return False


def question(typed: str) -> str:
    """A question as it is sent, without the blank that kept it from being a command."""
    words = typed.lstrip(" \t")
    return words if _TYPED.fullmatch(words) else typed


def as_typed(question: str) -> str:
    """A question as it must be typed, with a blank if it looks like a command."""
    return f" {question}" if _TYPED.fullmatch(question) else question


def numbered(rest: str) -> tuple[str, str]:
    """The number that arguments begin with, empty if there is none, and the rest."""
    found = _NUMBERED.fullmatch(rest)
    return ("", rest) if found is None else (found[1], found[2] or "")


def path_of(typed: str) -> Path:
    """A path that was typed as an argument, with or without quotes."""
    quoted = len(typed) > 1 and typed[0] == typed[-1] and typed[0] in "\"'"
    return Path(os.path.expanduser(typed[1:-1] if quoted else typed))
