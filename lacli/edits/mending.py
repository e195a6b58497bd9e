"""How a step of mending offers a text. Called by the `mend_*` modules. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lacli.edits.hunks import hunks
from lacli.edits.scope import Scope


class Mended(NamedTuple):
    """The whole text with one thing mended, and what is said of it."""

    text: str
    note: str


def with_lines(lines: Sequence[str], start: int, end: int, new: Sequence[str]) -> str:
    """The text with other lines in the place of these."""
    return "\n".join([*lines[:start], *new, *lines[end:]])


def fresh_rows(scope: Scope) -> list[int]:
    """The lines of the new text that the old one has not."""
    return [
        row for change in hunks(scope.old.lines, scope.new.lines) for row in range(change.new_start, change.new_end)
    ]
