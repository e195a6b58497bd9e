"""Code that nobody asked for taken out, and imports put where those of the file are. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lacli.edits.checks import strays as check_strays
from lacli.edits.checks.scope import Scope
from lacli.edits.mend.mending import Mended, with_lines
from lacli.edits.reply.placing import with_imports


def without(scope: Scope) -> Iterator[Mended]:
    """No new statements beside the definitions."""
    lines = scope.new.lines
    for start, end in check_strays.stray_rows(scope):
        shown = next(lines[row].strip()[:50] for row in range(start, end) if scope.new.tokens(row, row + 1))
        note = f"took out `{shown}`, which was not asked for"
        yield Mended(_without(scope, start, end), note)


def imports(scope: Scope) -> Iterator[Mended]:
    """No imports that nothing uses, and the others at the top instead of below code."""
    unused = check_strays.unused_imports(scope)
    for each in unused:
        note = f"took out the needless import of {each.label}"
        if all(one in unused for one in scope.new.imports if one.start == each.start):
            yield Mended(_without(scope, each.start, each.end), note)
        statement = "\n".join(scope.new.lines[each.start : each.end])
        rest = re.sub(
            rf"(?<!\w){re.escape(each.bound)}\s*,\s*|,\s*{re.escape(each.bound)}(?!\w)", "", statement, count=1
        )
        if each.bound and rest != statement:
            yield Mended(with_lines(scope.new.lines, each.start, each.end, rest.split("\n")), note)
    for start, end in check_strays.late_imports(scope):
        taken = "\n".join(scope.new.lines[start:end])
        moved = with_imports(_without(scope, start, end), scope.new.language, (taken,))
        yield Mended(moved, f"put `{taken.strip()[:50]}` at the top")


def _without(scope: Scope, start: int, end: int) -> str:
    """The text without these lines, and with one of the gaps that stood around them."""
    lines = scope.new.lines
    first, last = start, end
    while first and not lines[first - 1].strip():
        first -= 1
    while last < len(lines) and not lines[last].strip():
        last += 1
    if last == len(lines):  # the end of the file
        return with_lines(lines, first, last, lines[len(lines) - 1 :] if last > end else [])
    return with_lines(lines, first, last, [""] * (max(start - first, last - end) if first else 0))
