"""Replies that say what to change instead of giving the text again: SEARCH/REPLACE blocks and unified diffs. Pure.

Models answer so whether they were asked to or not. What they quote is found by its lines, exactly or but for their
indentation; what cannot be found, or is found twice, changes nothing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from lacli.text.fences import Block

_BLOCK = re.compile(
    r"^[ \t]*<{5,9} ?(?:SEARCH|ORIGINAL|HEAD)[^\n]*\n(.*?)^[ \t]*={5,9}[ \t]*\n(.*?)^[ \t]*>{5,9}[^\n]*$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"^[ \t]*(?:<{5,9} ?(?:SEARCH|ORIGINAL|HEAD)\b|>{5,9} ?(?:REPLACE|UPDATED)\b)", re.MULTILINE)
_HUNK = re.compile(r"^@@[^\n]*$", re.MULTILINE)
_HEADS = ("--- ", "+++ ", "diff --git ", "index ", "new file mode ", "\\ No newline")


@dataclass(frozen=True, slots=True)
class Replacement:
    """Lines to be found, and what comes into their place."""

    old: tuple[str, ...]
    new: tuple[str, ...]


class NotFound(Exception):
    """A quoted piece stands nowhere in the text, or in several places; the message says which."""


def has_marks(text: str) -> bool:
    """Whether a text has the marks of SEARCH/REPLACE blocks."""
    return bool(_MARK.search(text))


def search_blocks(reply: str) -> list[Replacement]:
    """The SEARCH/REPLACE blocks of a reply, in order."""
    return [Replacement(_lines(found[1]), _lines(found[2])) for found in _BLOCK.finditer(reply)]


def is_diff(block: Block) -> bool:
    """Whether a fenced block is a unified diff."""
    lines = block.text.split("\n")
    headed = any(one.startswith("--- ") and two.startswith("+++ ") for one, two in itertools.pairwise(lines))
    hunk = any(line.startswith("@@") for line in lines)
    return (headed and hunk) or ((headed or hunk or block.language in ("diff", "patch")) and _signs_every_line(lines))


def diff_hunks(text: str) -> list[Replacement]:
    """The hunks of a unified diff; their line numbers, which models get wrong, are not used."""
    body = "\n".join(line for line in text.split("\n") if not line.startswith(_HEADS))
    found = []
    for hunk in _HUNK.split(body):
        lines = hunk.strip("\n").split("\n")
        old = tuple(line[1:] for line in lines if line[:1] in (" ", "-") or not line)
        new = tuple(line[1:] for line in lines if line[:1] in (" ", "+") or not line)
        if old != new:
            found.append(Replacement(old, new))
    return found


def replaced(text: str, replacements: Sequence[Replacement]) -> str:
    """The text with all of them made, in order. Raises NotFound; then nothing may be taken."""
    lines = text.split("\n")
    for number, each in enumerate(replacements, 1):
        if not any(line.strip() for line in each.old):
            if any(line.strip() for line in lines):
                raise NotFound(f"change {number} of the reply does not say which lines it replaces")
            lines = list(each.new)
            continue
        at, size = _place(lines, each.old, number)
        lines[at : at + size] = _as_deep(lines[at : at + size], each)
    return "\n".join(lines)


def _place(lines: Sequence[str], old: Sequence[str], number: int) -> tuple[int, int]:
    """Where these lines stand, and how many they are there."""
    wanted = _trimmed(old)
    for key in (str.rstrip, str.strip):
        have, want = [key(line) for line in lines], [key(line) for line in wanted]
        places = [at for at in range(len(have) - len(want) + 1) if have[at : at + len(want)] == want]
        if len(places) == 1:
            return places[0], len(want)
        if places:
            raise NotFound(f"change {number} of the reply fits in {len(places)} places ({wanted[0].strip()[:40]!r})")
    first = next(line.strip() for line in wanted if line.strip())
    raise NotFound(f"change {number} of the reply quotes lines that are not there ({first[:40]!r})")


def _as_deep(found: Sequence[str], made: Replacement) -> list[str]:
    """The new lines, moved by as much as the quoted ones were indented otherwise than they are."""
    new = _trimmed(made.new)
    quoted = next((line for line in _trimmed(made.old) if line.strip()), "")
    real = next((line for line in found if line.strip()), "")
    quoted_indent, indent = _indent(quoted), _indent(real)
    if quoted_indent == indent:
        return list(new)
    return [
        indent + line[len(quoted_indent) :] if line.strip() and line.startswith(quoted_indent) else line for line in new
    ]


def _trimmed(lines: Sequence[str]) -> list[str]:
    """Without blank lines at both ends."""
    written = [at for at, line in enumerate(lines) if line.strip()]
    return list(lines[written[0] : written[-1] + 1]) if written else []


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _lines(text: str) -> tuple[str, ...]:
    """Of a quoted piece, without the fence that some models put inside the marks."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if len(lines) > 1 and lines[0].lstrip().startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    return tuple(lines)


def _signs_every_line(lines: Sequence[str]) -> bool:
    """Whether each line begins as one of a diff does, some with a change."""
    written = [line for line in lines if line.strip() and not line.startswith((*_HEADS, "@@"))]
    return bool(written) and all(line[0] in " +-" for line in written) and any(line[0] in "+-" for line in written)
