"""Code that changed although the instruction asks for comments or docstrings alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope
from lacli.edits.tree.hunks import Hunk, hunks
from lacli.edits.tree.pieces import Pieces


def documented(scope: Scope) -> Iterator[Fault]:
    """The first line of code that is not as it was."""
    for each in changed_code(scope)[:1]:
        row = min(each.start, len(scope.old.lines) - 1)
        shown = scope.old.lines[row].strip()[:50]
        yield Fault(
            "changed", f"the code at line {row + 1} (`{shown}`) is changed, and only documentation is asked for"
        )


def changed_code(scope: Scope) -> list[Hunk]:
    """The changes that are not of comments, docstrings and blank lines."""
    if not scope.only_documents or scope.old.outline is None:
        return []
    if _code(scope.old) == _code(scope.new):
        return []
    prose = (prose_rows(scope.old), prose_rows(scope.new))
    return [
        each
        for each in hunks(scope.old.lines, scope.new.lines)
        if _of(scope.old, each.start, each.end, prose[0]) != _of(scope.new, each.new_start, each.new_end, prose[1])
    ]


def _code(text: Pieces) -> list[str]:
    return _of(text, 0, len(text.lines), prose_rows(text))


def _of(text: Pieces, start: int, end: int, without: set[int]) -> list[str]:
    """The tokens of these lines but for those of some."""
    return [token for row in range(start, end) if row not in without for token in text.tokens(row, row + 1)]


def prose_rows(text: Pieces) -> set[int]:
    """The lines of comments and docstrings, that of the file included."""
    ranges = [(each.start, each.end) for each in text.comments if each.alone]
    ranges += [each.doc for each in text.definitions if each.doc is not None]
    rows = {row for start, end in ranges for row in range(start, end)}
    if text.language == "python":
        first = next((row for row in range(len(text.lines)) if text.tokens(row, row + 1)), 0)
        tokens = text.tokens(first, first + 1)
        if len(tokens) == 1 and tokens[0][-1:] in "\"'":
            behind = (row for row in range(first + 1, len(text.lines)) if text.tokens(row, row + 1))
            rows.update(range(first, next(behind, len(text.lines))))
    return rows
