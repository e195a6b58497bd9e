"""Where a name stands that is to be renamed, told by the tree. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lacli.edits.checks.scope import Scope
from lacli.edits.tree.grammar import GRAMMARS
from lacli.edits.tree.pieces import Pieces, regions
from lacli.edits.tree.syntax import parsed, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = frozenset({"identifier", "type_identifier", "shorthand_property_identifier", "package_identifier", "constant"})
_MEMBER = frozenset({"property_identifier", "field_identifier", "private_property_identifier"})
_KEYWORD_OF = frozenset({"keyword_argument"})
_MEMBER_OF = {
    "attribute": "attribute",
    "scoped_identifier": "name",
    "field_access": "field",
    "method_invocation": "name",
}
"""Nodes with a plain identifier that is a member's name, and the field it stands in."""
_ONESELF = frozenset({"self", "cls", "this", "super()", "super"})
_BETWEEN = frozenset(
    {"expression_statement", "block", "decorated_definition", "declaration_list", "field_declaration", "class_body"}
)
"""What stands between a class and the definitions in it."""
_TELLING = re.compile(r"\w_\w|[a-z\d][A-Z]|\d")
"""What a name has that no English word has."""
_PARAMETER = re.compile(r"[:@]param\s+(?:\S+\s+)?$")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name stands."""

    row: int
    column: int
    """In characters."""


def missed(scope: Scope) -> dict[tuple[str, str], list[Place]]:
    """The places in the picked parts where a name still is the old one."""
    found: dict[tuple[str, str], list[Place]] = {}
    if not scope.renames or scope.old.outline is None or scope.old.language == "markdown":
        return found
    for old, new in scope.renames.items():
        if not re.fullmatch(r"[\w$#]+", old) or not re.fullmatch(r"[\w$#]+", new):
            continue
        sort = _sort_of(scope, old)
        if sort is None or not _is_made(scope, old, new):
            continue
        parts = _parts(scope, old)
        places = [
            place
            for place in dict.fromkeys(_occurrences(scope.new, old, sort))
            if any(start <= place.row < end for start, end in parts)
        ]
        if places:
            found[old, new] = places
    return found


def with_new_names(scope: Scope, start: int, end: int) -> list[str]:
    """These lines of the old text with the new names in them."""
    lines = list(scope.old.lines)
    for old, new in scope.renames.items():
        sort = _sort_of(scope, old)
        if sort is not None:
            lines = replaced(lines, list(_occurrences(scope.old, old, sort)), old, new)
    return lines[start:end]


def replaced(lines: Sequence[str], places: Sequence[Place], old: str, new: str) -> list[str]:
    """The lines with another name at these places."""
    made = list(lines)
    for place in sorted(set(places), key=lambda each: (each.row, -each.column)):
        line = made[place.row]
        if line[place.column : place.column + len(old)] == old:
            made[place.row] = line[: place.column] + new + line[place.column + len(old) :]
    return made


def _parts(scope: Scope, old: str) -> list[tuple[int, int]]:
    """The lines in which the name is the one meant: a parameter's functions, or the picked parts."""
    picked = regions(scope.old, scope.new, scope.spans)
    if any(each.name == old for each in scope.old.definitions):
        return picked
    owners = [at for at, each in enumerate(scope.old.definitions) if each.kind == "function" and old in each.parameters]
    owners = [at for at in owners if scope.is_named(scope.old.definitions[at])] or owners
    ranges = [(now.start, now.end) for at in owners if (now := scope.became[at]) is not None]
    inside = [(max(start, s), min(end, e)) for start, end in ranges for s, e in picked]
    return [(start, end) for start, end in inside if start < end] or picked


def _is_made(scope: Scope, old: str, new: str) -> bool:
    """Whether the renaming is under way: the new name is there more often than it was."""
    return scope.new.tokens().count(new) > scope.old.tokens().count(new)


def _sort_of(scope: Scope, old: str) -> Literal["plain", "member"] | None:
    """Whether a name is one of its own or a member's; None where it is both, and cannot be told apart."""
    owners = [each for each in scope.old.definitions if each.name == old]
    member = any(len(each.path) > 1 for each in owners)
    plain = any(len(each.path) == 1 for each in owners) or any(
        old in each.parameters for each in scope.old.definitions if each.kind == "function"
    )
    if member and plain:
        return None
    if member or plain:
        return "member" if member else "plain"
    return "plain" if next(_occurrences(scope.old, old, "plain"), None) is not None else "member"


def _occurrences(text: Pieces, name: str, sort: Literal["plain", "member"]) -> Iterator[Place]:
    tree = parsed(text.text, text.language)
    if tree is None:
        return
    comments = GRAMMARS[text.language].comments if text.language in GRAMMARS else frozenset()
    for node in walk(tree.root_node):
        if node.type in comments:
            yield from _in_prose(text, node, name)
        elif not node.children and text_of(node) == name and _sort(node) in (sort, "both") and _is_own(node, name):
            yield _place(text, node.start_point[0], node.start_point[1])
    for each in text.definitions:
        if each.doc is not None:
            for row in range(*each.doc):
                yield from (Place(row, column) for column in _words(text.lines[row], name))


def _is_own(node: Node, name: str) -> bool:
    """Whether a member can be taken for the one meant: another object may have a `pop` of its own."""
    parent = node.parent
    if parent is None or _TELLING.search(name) or len(parent.children) != 3 or text_of(parent.children[1]) not in ".->":
        return True
    return text_of(parent.children[0]) in _ONESELF


def _sort(node: Node) -> str:
    """What kind of name this is."""
    if node.type in _MEMBER:
        return "member"
    if node.type not in _PLAIN:
        return ""
    parent = node.parent
    if parent is None:
        return "plain"
    if parent.type in _KEYWORD_OF and parent.child_by_field_name("name") == node:
        return ""  # of a function that need not be the one meant
    if parent.type in _MEMBER_OF and parent.child_by_field_name(_MEMBER_OF[parent.type]) == node:
        return "member"
    if parent.child_by_field_name("name") == node or parent.child_by_field_name("left") == node:
        return "both" if _is_inside_class(parent) else "plain"
    return "plain"


def _is_inside_class(node: Node) -> bool:
    """Whether a definition stands directly in a class, whose members then may have its name."""
    up = node.parent
    while up is not None and up.type in _BETWEEN:
        up = up.parent
    return up is not None and ("class" in up.type or "impl" in up.type or "trait" in up.type or "interface" in up.type)


def _in_prose(text: Pieces, node: Node, name: str) -> Iterator[Place]:
    for row in range(node.start_point[0], node.end_point[0] + 1):
        first = _place(text, *node.start_point).column if row == node.start_point[0] else 0
        line = text.lines[row] if row < len(text.lines) else ""
        yield from (Place(row, column) for column in _words(line, name) if column >= first)


def _words(line: str, name: str) -> Iterator[int]:
    """Where prose speaks of the name. One that is an English word as well has to look like a name there."""
    for found in re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", line):
        ahead, behind = line[: found.start()], line[found.end() :]
        quoted = ahead.endswith("`") and behind.startswith("`")
        if quoted or behind.startswith("(") or _TELLING.search(name) or _PARAMETER.search(ahead):
            yield found.start()


def _place(text: Pieces, row: int, column: int) -> Place:
    line = text.lines[row] if row < len(text.lines) else ""
    return Place(row, len(line.encode("utf-8", "replace")[:column].decode("utf-8", "replace")))
