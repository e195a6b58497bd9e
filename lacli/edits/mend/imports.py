"""Imports put back, and those of the standard library added that new code needs. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from lacli.edits.checks.losses import lost_imports
from lacli.edits.checks.names import undefined
from lacli.edits.checks.scope import Scope
from lacli.edits.mend.mending import Mended, undone, with_lines

_FROM = {
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque", "namedtuple"),
    "collections.abc": ("Callable", "Iterable", "Iterator", "Mapping", "Sequence"),
    "contextlib": ("contextmanager", "suppress"),
    "dataclasses": ("dataclass", "field"),
    "datetime": ("timedelta", "timezone"),
    "decimal": ("Decimal",),
    "enum": ("Enum", "IntEnum"),
    "functools": ("cached_property", "lru_cache", "partial", "wraps"),
    "pathlib": ("Path",),
    "typing": ("Any", "ClassVar", "Dict", "List", "NamedTuple", "Optional", "Protocol", "Tuple", "TypeVar", "Union"),
}
"""Names that come from one module only."""
_MODULE_OF = {name: module for module, names in _FROM.items() for name in names}


def lost(scope: Scope) -> Iterator[Mended]:
    """A lost import where it stood."""
    for each in lost_imports(scope):
        note = f"put back the import of {each.label}"
        yield from (Mended(text, note) for text in undone(scope, each.start, each.end))
        old, new = scope.old.lines, scope.new.lines
        statement = old[each.start : each.end]
        there = [now for now in scope.new.imports if now.label.rsplit(".", 1)[0] == each.label.rsplit(".", 1)[0]]
        names = {one.label for one in scope.old.imports if one.start == each.start}
        for now in there:
            if {one.label for one in scope.new.imports if one.start == now.start} <= names:
                yield Mended(with_lines(new, now.start, now.end, statement), note)
        row = _row_of(scope, each.start, each.end)
        yield Mended(with_lines(new, row, row, statement), note)
        block = next((lines for lines in _blocks(scope) if lines[0] <= each.start < lines[1]), None)
        if block is not None:
            row = _row_of(scope, *block)
            gap = [""] if block[1] < len(old) and not old[block[1]].strip() and new[row].strip() else []
            yield Mended(with_lines(new, row, row, [*old[block[0] : block[1]], *gap]), note)


def _blocks(scope: Scope) -> tuple[tuple[int, int], ...]:
    return scope.old.outline.imports if scope.old.outline is not None else ()


def _row_of(scope: Scope, start: int, end: int) -> int:
    """Where lines of the old text belong in the new one: behind or before the line they stood beside."""
    old, new = scope.old.lines, scope.new.lines
    for row in range(start - 1, -1, -1):
        if old[row].strip():
            if old[row] in new:
                found = new.index(old[row]) + 1
                return found + (row < start - 1 and found < len(new) and not new[found].strip()) * (start - 1 - row)
            if not any(first <= row < last for first, last in _blocks(scope)):
                break
    for row in range(end, len(old)):
        if old[row].strip() and old[row] in new:
            return new.index(old[row])
    return 0


def standard(scope: Scope) -> Iterator[Mended]:
    """An import that new Python code needs and that can be only one."""
    if scope.new.language != "python":
        return
    known = set(undefined(scope.old.text, "python"))
    for name in undefined(scope.new.text, "python"):
        if name in known:
            continue
        if name in sys.stdlib_module_names and re.search(rf"(?<![\w.]){name}\.\w", scope.new.text):
            yield Mended(_with_import(scope, f"import {name}"), f"added the import of {name}")
        elif name in _MODULE_OF:
            yield Mended(_with_from(scope, _MODULE_OF[name], name), f"added the import of {_MODULE_OF[name]}.{name}")


def _with_from(scope: Scope, module: str, name: str) -> str:
    lines = scope.new.lines
    for row, line in enumerate(lines):
        if re.fullmatch(rf"from {re.escape(module)} import [\w, ]+", line):
            ahead, _, names = line.partition(" import ")
            listed = [each.strip() for each in names.split(",")]
            where = next((at for at, each in enumerate(listed) if each > name), len(listed))
            listed.insert(where, name)
            return with_lines(lines, row, row + 1, [f"{ahead} import {', '.join(listed)}"])
    return _with_import(scope, f"from {module} import {name}")


def _with_import(scope: Scope, statement: str) -> str:
    """The text with one more import, in its place by the alphabet among those of its form."""
    lines = scope.new.lines
    form = statement.split()[0]
    rows = sorted({(each.start, each.end) for each in scope.new.imports})
    others = [each for each in rows if "__future__" not in lines[each[0]]]
    alike = [each for each in others if lines[each[0]].startswith(f"{form} ")]
    later = next((start for start, _ in alike if lines[start] > statement), None)
    if later is not None:
        return with_lines(lines, later, later, [statement])
    if alike:
        return with_lines(lines, alike[-1][1], alike[-1][1], [statement])
    if others:
        row = others[0][0] if form == "import" else others[-1][1]
        return with_lines(lines, row, row, [statement])
    row = rows[-1][1] if rows else _behind_docstring(scope)
    ahead = [""] if row and lines[row - 1].strip() else []
    behind = [""] if row < len(lines) and lines[row].strip() else []
    return with_lines(lines, row, row, [*ahead, statement, *behind])


def _behind_docstring(scope: Scope) -> int:
    import ast

    body = ast.parse(scope.new.text).body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[0].end_lineno or 0
    return next((row for row, line in enumerate(scope.new.lines) if not line.startswith("#")), 0)
