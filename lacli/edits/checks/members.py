"""New methods that do not belong to what they were asked for, and names that only mean something elsewhere. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope
from lacli.edits.find.owners import owner
from lacli.edits.tree.grammar import GRAMMARS
from lacli.edits.tree.outline import Definition
from lacli.edits.tree.syntax import parsed, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WITH_METHODS = ("python", "javascript", "typescript", "go", "rust", "cpp", "java")
_WITH_LOCALS = ("javascript", "typescript", "go", "rust", "c", "cpp")
"""Languages with no checker of their own here; Python has one, see `names`."""
_DECLARING = frozenset(
    {"name", "pattern", "left", "parameter", "parameters", "declarator", "receiver", "alias", "label"}
)
"""The fields of a tree in which a name is made rather than used. Some hold uses, too: better no fault than a false
one."""
_DECLARES = frozenset(
    {"closure_parameters", "match_pattern", "self_parameter", "object_pattern", "array_pattern", "let_condition",
     "parameter_list", "labeled_statement", "tuple_struct_pattern", "tuple_pattern"}
)  # fmt: skip


def members(scope: Scope) -> Iterator[Fault]:
    """Each new method that is none of what it was to belong to, and each name that is not known where it is used."""
    for each, of in strangers(scope):
        yield Fault("asked", f"`{each.name}` is no method of `{of}`")
    for name, row in unknown_locals(scope):
        yield Fault("undefined", f"`{name}` in line {row + 1} is not defined there")


def strangers(scope: Scope) -> list[tuple[Definition, str]]:
    """New functions with what they should have become methods of."""
    if scope.old.language not in _WITH_METHODS or scope.old.outline is None:
        return []
    had = {each.path for each in scope.old.definitions}
    found: list[tuple[Definition, str]] = []
    for name in scope.intent.adds:
        of = owner(name, scope.intent.text, scope.old.outline)
        new = [each for each in scope.new.definitions if each.name == name and each.path not in had]
        if not of or any(_belongs(each, of) for each in new):
            continue
        found += [(each, of) for each in new if each.kind == "function"][:1]
    return found


def _belongs(each: Definition, of: str) -> bool:
    return any(part == of or part.endswith(f" for {of}") for part in each.path[:-1])


def unknown_locals(scope: Scope) -> list[tuple[str, int]]:
    """Names used in changed functions that only other functions have: their parameters, receivers and variables."""
    if scope.old.language not in _WITH_LOCALS or not scope.new.sound:
        return []
    old, new = (_functions(text.text, text.language) for text in (scope.old, scope.new))
    free = {name for each in old for name in each.used if name not in each.declared}
    elsewhere = {name for each in old for name in each.declared} - free
    known = {each.name for each in scope.new.definitions} | {each.bound for each in scope.new.imports}
    return [
        (name, row)
        for each in new
        for name, row in each.used.items()
        if name in elsewhere and name not in each.declared and name not in known
    ]


class _Function(NamedTuple):
    """The names that an outermost function uses, each with its first line, and those that it declares."""

    used: dict[str, int]
    declared: frozenset[str]


@functools.lru_cache(maxsize=24)
def _functions(text: str, language: str) -> tuple[_Function, ...]:
    tree, grammar = parsed(text, language), GRAMMARS.get(language)
    if tree is None or grammar is None:
        return ()
    found: list[_Function] = []
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        if grammar.definitions.get(node.type) == "function" and node.child_by_field_name("body") is not None:
            found.append(_read(node))
        else:
            pending.extend(node.children)
    return tuple(found)


def _read(function: Node) -> _Function:
    used: dict[str, int] = {}
    declared: set[str] = set()
    pending: list[tuple[Node, bool]] = [(function, False)]
    while pending:
        node, declares = pending.pop()
        if not node.children and node.type in ("identifier", "self"):
            name = text_of(node)
            if declares:
                declared.add(name)
            else:
                used.setdefault(name, node.start_point[0])
        for at, child in enumerate(node.children):
            field = node.field_name_for_child(at)
            inside = field in _DECLARING or child.type in _DECLARES
            makes = inside or (declares and field not in ("value", "type", "body", "default_value"))
            pending.append((child, makes))
            if inside and field == "left":  # `x = 1` may also use what it is given to
                declared.update(text_of(each) for each in walk(child) if each.type == "identifier")
    return _Function(used, frozenset(declared))
