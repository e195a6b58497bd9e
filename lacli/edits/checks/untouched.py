"""Code that changed although the instruction asks for documentation or type hints alone. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope
from lacli.edits.tree.hunks import Hunk, hunks
from lacli.edits.tree.pieces import Pieces

_WHAT = {
    frozenset({"documentation"}): "documentation is",
    frozenset({"types"}): "type hints are",
    frozenset({"documentation", "types"}): "documentation and type hints are",
}


def untouched(scope: Scope) -> Iterator[Fault]:
    """The first line of code that is not as it was."""
    for each in changed_code(scope)[:1]:
        row = min(each.start, len(scope.old.lines) - 1)
        shown = scope.old.lines[row].strip()[:50]
        yield Fault(
            "code", f"the code at line {row + 1} (`{shown}`) is changed, and only {_WHAT[scope.only]} asked for"
        )


def changed_code(scope: Scope) -> list[Hunk]:
    """The changed lines that hold more than what the instruction asks for."""
    if not scope.only or scope.old.outline is None:
        return []
    return _changed_but_for_hints(scope) if "types" in scope.only else _changed_but_for_prose(scope)


def _changed_but_for_prose(scope: Scope) -> list[Hunk]:
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


def _changed_but_for_hints(scope: Scope) -> list[Hunk]:
    """Compares tokens instead of lines: a line may have its hints and its changes, and a signature may be wrapped."""
    old, new = (_unhinted(text, "documentation" in scope.only) for text in (scope.old, scope.new))
    words = ([token for _, token in old], [token for _, token in new])
    cuts = [(0, 0)]
    for equal in _equal_runs(hunks(*words), len(old)):
        cuts += [at for at in equal if not _splits_line(old, at[0]) and not _splits_line(new, at[1])]
    cuts.append((len(old), len(new)))
    return [
        Hunk(*_rows(old, start, end), *_rows(new, new_start, new_end))
        for (start, new_start), (end, new_end) in itertools.pairwise(cuts)
        if words[0][start:end] != words[1][new_start:new_end]
    ]


def _unhinted(text: Pieces, without_prose: bool) -> list[tuple[int, str]]:
    prose = prose_rows(text) if without_prose else frozenset[int]()
    return [(row, token) for row, token in text.unhinted if row not in prose]


def _equal_runs(changes: Sequence[Hunk], length: int) -> Iterator[list[tuple[int, int]]]:
    """Of each run of equal tokens the places in both lists, that behind its last token included."""
    at = new_at = 0
    for each in changes:
        yield [(at + step, new_at + step) for step in range(each.start - at + 1)]
        at, new_at = each.end, each.new_end
    yield [(at + step, new_at + step) for step in range(length - at + 1)]


def _splits_line(tokens: Sequence[tuple[int, str]], at: int) -> bool:
    return 0 < at < len(tokens) and tokens[at - 1][0] == tokens[at][0]


def _rows(tokens: Sequence[tuple[int, str]], start: int, end: int) -> tuple[int, int]:
    """The lines of these tokens; of none, the place behind the token before."""
    if start == end:
        at = _behind(tokens[start - 1]) if start else 0
        return at, at
    return tokens[start][0], _behind(tokens[end - 1])


def _behind(token: tuple[int, str]) -> int:
    return token[0] + token[1].count("\n") + 1


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
