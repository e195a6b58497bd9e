"""Names that an edit left undefined, defined anew or forgot to rename. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.occurrences import missed
from lacli.edits.checks.scope import Scope
from lacli.edits.tree.pieces import Pieces, renamed
from lacli.edits.tree.syntax import parsed, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_TELLING = {
    "UndefinedName": "`{0}` is used but not defined",
    "UndefinedLocal": "`{0}` is used before it is defined",
    "UndefinedExport": "`{0}` is in __all__ but not defined",
    "RedefinedWhileUnused": "`{0}` is defined twice",
    "DuplicateArgument": "the parameter `{0}` stands twice",
    "ReturnOutsideFunction": "a return stands outside of any function",
    "YieldOutsideFunction": "a yield stands outside of any function",
    "ContinueOutsideLoop": "a continue stands outside of any loop",
    "BreakOutsideLoop": "a break stands outside of any loop",
}


_SHOWN = 5
"""Lines that are named of those with one fault."""


def names(scope: Scope) -> Iterator[Fault]:
    """What is new of such faults."""
    had = {renamed(line, scope.renames) for _, _, line in flakes(scope.old.text, scope.old.language)}
    said: dict[str, list[int]] = {}
    for _, row, line in flakes(scope.new.text, scope.new.language):
        if renamed(line, scope.renames) not in had:
            said.setdefault(line, []).append(row)
    for line, rows in said.items():
        yield Fault("undefined", f"{line} ({_in_lines(rows)})")
    for name, row, _ in assigned_consts(scope):
        yield Fault("undefined", f"`{name}` is a const, and line {row + 1} gives it another value")
    for name, lines in dangling(scope):
        if f"`{name}` is used but not defined" not in said:
            yield Fault("undefined", f"`{name}` is gone, and is still used in {_in_lines([row + 1 for row in lines])}")
    for (old, new), places in missed(scope).items():
        where = _in_lines([place.row + 1 for place in places])
        yield Fault("rename", f"`{old}` is not renamed to `{new}` in {where}")


def _in_lines(rows: Sequence[int]) -> str:
    """Lines, counted from 1, in words."""
    distinct = list(dict.fromkeys(rows))
    more = f" and {len(distinct) - _SHOWN} more" if len(distinct) > _SHOWN else ""
    return f"line{'s' * (len(distinct) > 1)} {', '.join(map(str, distinct[:_SHOWN]))}{more}"


def undefined(text: str, language: str) -> list[str]:
    """The names that Python would not find, in order."""
    return list(dict.fromkeys(name for kind, name, _, _ in _messages(text, language) if kind == "UndefinedName"))


def flakes(text: str, language: str) -> list[tuple[str, int, str]]:
    """The kind, line and wording of what pyflakes has to say against a text."""
    return [(kind, row, _TELLING[kind].format(name)) for kind, name, row, _ in _messages(text, language)]


@functools.lru_cache(maxsize=24)
def _messages(text: str, language: str) -> tuple[tuple[str, str, int, int], ...]:
    if language != "python":
        return ()
    import ast
    import warnings

    from pyflakes.checker import Checker

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            found = Checker(tree).messages
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()  # a fault of its own
    return tuple(
        (type(each).__name__, str(each.message_args[0]) if each.message_args else "", each.lineno, each.col)
        for each in sorted(found, key=lambda each: (each.lineno, each.col))
        if type(each).__name__ in _TELLING
    )


def dangling(scope: Scope) -> list[tuple[str, list[int]]]:
    """Functions and classes of the top level that are gone on request and still used, with the lines that use them.

    For languages other than Python, whose own checker sees them.
    """
    if scope.old.language in ("python", "markdown", "toml", "json", "yaml"):
        return []
    there = {each.name for each in scope.new.definitions} | {each.bound for each in scope.new.imports}
    gone = [
        each.name
        for at, each in enumerate(scope.old.definitions)
        if each.parent is None
        and len(each.path) == 1
        and each.kind in ("function", "class")
        and scope.became[at] is None
        and each.name.isidentifier()
        and each.name not in there
    ]
    return [(name, lines) for name in gone if (lines := _lines_with(scope.new, name))]


def assigned_consts(scope: Scope) -> list[tuple[str, int, int]]:
    """Constants of JavaScript that are given another value, as they were not before: with that line and their own."""
    if scope.old.language not in ("javascript", "typescript"):
        return []
    had = {name for name, _, _ in _assigned(scope.old.text, scope.old.language)}
    return [each for each in _assigned(scope.new.text, scope.new.language) if each[0] not in had]


@functools.lru_cache(maxsize=24)
def _assigned(text: str, language: str) -> tuple[tuple[str, int, int], ...]:
    tree = parsed(text, language)
    if tree is None or tree.root_node.has_error:
        return ()
    found: list[tuple[str, int, int]] = []
    for node in walk(tree.root_node):
        target = None
        if node.type in ("assignment_expression", "augmented_assignment_expression"):
            target = node.child_by_field_name("left")
        elif node.type == "update_expression":
            target = node.child_by_field_name("argument")
        if target is None or target.type != "identifier":
            continue
        declared = _declaration(target)
        if declared is not None and text_of(declared).startswith("const"):
            found.append((text_of(target), target.start_point[0], declared.start_point[0]))
    return tuple(found)


def _declaration(use: Node) -> Node | None:
    """What declares a variable of JavaScript where it is used; None for parameters and what the tree does not show."""
    name = text_of(use)
    scope = use.parent
    while scope is not None:
        if any(text_of(each) == name for each in _parameters(scope)):
            return None
        for child in scope.named_children:
            child = child.named_children[0] if child.type == "export_statement" and child.named_children else child
            if child.type not in ("lexical_declaration", "variable_declaration"):
                continue
            names = [each.child_by_field_name("name") for each in child.named_children]
            if any(each is not None and text_of(each) == name for each in names):
                return child
        scope = scope.parent
    return None


def _parameters(scope: Node) -> list[Node]:
    found = scope.child_by_field_name("parameters") or scope.child_by_field_name("parameter")
    return [each for each in walk(found) if each.type.endswith("identifier")] if found is not None else []


def _lines_with(text: Pieces, name: str) -> list[int]:
    return [
        row
        for row in range(len(text.lines))
        if name in (tokens := text.tokens(row, row + 1)) and tokens[max(0, tokens.index(name) - 1)] != "."
    ]
