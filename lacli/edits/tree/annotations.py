"""Which nodes of a syntax tree are type hints: a program runs the same without them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lacli.edits.tree.grammar import GRAMMARS
from lacli.edits.tree.syntax import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

HINTED = ("python", "javascript", "typescript")
"""Languages in which types are optional. Those of JavaScript stand in comments."""
_TYPE_VARIABLES = ("TypeVar", "ParamSpec", "TypeVarTuple", "NewType")


def is_hint(language: str) -> Callable[[Node], bool]:
    """Tells whether a node, with all below it, is part of a type hint or of what a type hint needs.

    Imports at the top of the file count as such: what is lost of those is judged by their names.
    """
    of = {"python": _is_hint_of_python, "typescript": _is_hint_of_typescript}.get(language)
    imports = GRAMMARS[language].imports if language in GRAMMARS else frozenset[str]()

    def tells(node: Node) -> bool:
        is_import = node.type in imports and node.parent is not None and node.parent.parent is None
        return is_import or (of is not None and of(node))

    return tells


def _is_hint_of_python(node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    if node.type == "type":
        return parent.type in ("typed_parameter", "typed_default_parameter", "assignment", "function_definition")
    if node.type == ":":
        return parent.type in ("typed_parameter", "typed_default_parameter", "assignment")
    if node.type == "if_statement":
        condition = node.child_by_field_name("condition")
        return condition is not None and text_of(condition).rsplit(".", 1)[-1] == "TYPE_CHECKING"
    if node.type == "expression_statement" and parent.type == "module":
        return _defines_type_variable(node)
    is_arrow = node.type == "->" and parent.type == "function_definition"
    return is_arrow or node.type in ("type_parameter", "type_alias_statement") or _is_trailing_comma(node, "parameters")


def _defines_type_variable(statement: Node) -> bool:
    value = statement.named_children[0].child_by_field_name("right") if statement.named_children else None
    called = value.child_by_field_name("function") if value is not None and value.type == "call" else None
    return called is not None and text_of(called).rsplit(".", 1)[-1] in _TYPE_VARIABLES


_TYPESCRIPT = frozenset(
    {"type_annotation", "type_arguments", "type_parameters", "asserts_annotation", "type_predicate_annotation",
     "interface_declaration", "type_alias_declaration"}
)  # fmt: skip


def _is_hint_of_typescript(node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    if parent.type in ("as_expression", "satisfies_expression"):
        return node != parent.children[0]
    if node.type in "()" and parent.type == "formal_parameters":
        return True  # `x => x` needs them once x has a type
    if node.type == "export_statement":
        return any(child.type in ("interface_declaration", "type_alias_declaration") for child in node.children)
    marks = {"?": "optional_parameter", "!": "non_null_expression"}
    is_mark = parent.type == marks.get(node.type)
    return is_mark or node.type in _TYPESCRIPT or _is_trailing_comma(node, "formal_parameters")


def _is_trailing_comma(node: Node, of: str) -> bool:
    """Whether this is the comma behind the last parameter, as a list has that is wrapped because of its hints."""
    following = node.next_sibling
    parent = node.parent
    return (
        node.type == ","
        and parent is not None
        and parent.type == of
        and following is not None
        and following.type == ")"
    )
