"""The definitions of a file as a tree of line ranges: what an edit can pick, show in outline, and miss afterwards.

Made from the syntax tree by the tables in `grammar`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lacli.edits.tree.grammar import GRAMMARS, Grammar, Kind
from lacli.edits.tree.syntax import parsed, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMED = (
    "identifier", "type_identifier", "field_identifier", "property_identifier", "private_property_identifier",
    "bare_key", "quoted_key", "dotted_key", "string", "flow_node", "plain_scalar",
)  # fmt: skip
_FUNCTIONS = ("arrow_function", "function_expression", "function", "generator_function")
_QUOTES = "\"'`"


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition: whole lines, with the comments, decorators and attributes that stand directly above it."""

    name: str
    kind: Kind
    path: tuple[str, ...]
    """The names of what it stands in, and its own."""
    start: int
    """Its first line, from 0, with what belongs to it above."""
    head: int
    """The line its name stands in."""
    end: int
    """Behind its last line."""
    signature_end: int
    """Behind the last line of what stands before its body: `head + 1` for most."""
    parameters: tuple[str, ...] = ()
    doc: tuple[int, int] | None = None
    """The lines of its docstring (Python)."""
    receiver: str = ""
    """What stands before the name of a Go method: `(g *Group)`."""
    parent: int | None = None
    """Its place in `Outline.definitions`; None at the top of the file."""

    @property
    def label(self) -> str:
        """As a user would name it: Class.method."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Outline:
    """What a file holds."""

    language: str
    sound: bool
    """Whether the file parses without an error."""
    definitions: tuple[Definition, ...]
    """In the order of their first lines, each before what stands in it."""
    imports: tuple[tuple[int, int], ...] = field(default=())
    """Line ranges of imports at the top level."""
    comments: tuple[tuple[int, int], ...] = field(default=())
    """Line ranges of comments that have lines of their own."""

    def inside(self, start: int, end: int) -> list[Definition]:
        """The definitions that lie wholly in these lines."""
        return [each for each in self.definitions if start <= each.start and each.end <= end]

    def at(self, start: int, end: int) -> Definition | None:
        """The definition that takes just these lines."""
        return next((each for each in self.definitions if (each.start, each.end) == (start, end)), None)

    def children(self, of: Definition) -> list[Definition]:
        """What stands directly in a definition."""
        at = self.definitions.index(of)
        return [each for each in self.definitions if each.parent == at]


def outline(text: str, language: str) -> Outline | None:
    """The outline of a text; None where the language has no grammar."""
    tree = parsed(text, language)
    grammar = GRAMMARS.get(language)
    if tree is None or grammar is None:
        return None
    reader = _Reader(grammar, text)
    reader.read(tree.root_node, None, (), False)
    return Outline(
        language,
        not tree.root_node.has_error,
        tuple(reader.definitions),
        tuple(reader.imports),
        tuple(reader.comments),
    )


class _Reader:
    """Collects from one tree."""

    def __init__(self, grammar: Grammar, text: str) -> None:
        self._grammar = grammar
        self._lines = text.split("\n")
        self.definitions: list[Definition] = []
        self.imports: list[tuple[int, int]] = []
        self.comments: list[tuple[int, int]] = []

    def read(self, node: Node, parent: int | None, path: tuple[str, ...], local: bool) -> None:
        """All that stands below a node. `local`: within the body of a function."""
        for child in node.children:
            inner = self._inner(child)
            if child.type in self._grammar.imports:
                if not local:
                    self.imports.append(_lines_of(child))
            elif child.type in self._grammar.comments:
                if self._is_alone(child):
                    self.comments.append(_lines_of(child))
            elif inner is None:
                self.read(child, parent, path, local or child.type in self._grammar.local)
            else:
                self._define(child, inner, parent, path, local)

    def _define(self, outer: Node, node: Node, parent: int | None, path: tuple[str, ...], local: bool) -> None:
        kind = self._kind(node)
        name = _name(node)
        inside = local or node.type in self._grammar.local
        if not name or (local and kind in ("variable", "key")):
            self.read(node, parent, path, inside)
            return
        start, end = _lines_of(outer)
        while end > start + 1 and not "".join(self._lines[end - 1 : end]).strip():
            end -= 1  # the blank lines behind a table or a section are not its own
        owner = _owner(node)
        path = (*path, *([owner] if owner else []), name)
        at = len(self.definitions)
        self.definitions.append(
            Definition(
                name=name,
                kind=kind,
                path=path,
                start=self._with_leading(outer, start),
                head=node.start_point[0],
                end=end,
                signature_end=_signature_end(node),
                parameters=tuple(_parameters(node, self._grammar)) if kind == "function" else (),
                doc=_docstring(node),
                receiver=_receiver(node),
                parent=parent,
            )
        )
        self.read(node, at, path, inside)

    def _inner(self, node: Node) -> Node | None:
        """The definition that this node is, or stands around."""
        if node.type in self._grammar.definitions:
            return node if self._defines(node) else None
        if node.type not in self._grammar.wrappers:
            return None
        found = [inner for child in node.named_children if (inner := self._inner(child)) is not None]
        return found[0] if len(found) == 1 else None

    def _defines(self, node: Node) -> bool:
        """Whether this use of the node type does define a name."""
        if node.type == "assignment_expression":  # of JavaScript: of a property, else it is a mere assignment
            left = node.child_by_field_name("left")
            return left is not None and left.type == "member_expression"
        if node.type in ("struct_specifier", "union_specifier", "enum_specifier", "class_specifier"):
            return node.child_by_field_name("body") is not None
        if node.type == "assignment":
            left = node.child_by_field_name("left")
            return left is not None and left.type == "identifier"
        return True

    def _kind(self, node: Node) -> Kind:
        kind = self._grammar.definitions[node.type]
        if kind in ("variable", "key"):
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            if value is not None and value.type in _FUNCTIONS:
                return "function"
            if value is not None and value.type == "class":
                return "class"
            if node.type == "declaration" and any(child.type == "function_declarator" for child in _declarators(node)):
                return "function"
        return kind

    def _with_leading(self, node: Node, start: int) -> int:
        """The first line with comments and attributes that touch the definition from above."""
        before = node.prev_sibling
        while (
            before is not None
            and (before.type in self._grammar.comments or before.type in self._grammar.attributes)
            and _lines_of(before)[1] == start
            and self._is_alone(before)
        ):
            start = before.start_point[0]
            before = before.prev_sibling
        return start

    def _is_alone(self, node: Node) -> bool:
        """Whether nothing but blanks stands before the node on its line."""
        row, column = node.start_point
        line = self._lines[row].encode("utf-8", "replace") if row < len(self._lines) else b""
        return not line[:column].strip()


def defined_names(text: str, language: str) -> set[str]:
    """The names that a text defines for other code to use; keys and headings are data."""
    found = outline(text, language)
    definitions = found.definitions if found is not None else ()
    return {each.name for each in definitions if each.kind in ("function", "class", "variable")}


def _lines_of(node: Node) -> tuple[int, int]:
    """First line and the one behind the last. A node that ends at the beginning of a line does not hold that line."""
    (first, _), (last, column) = node.start_point, node.end_point
    return first, max(first + 1, last if column == 0 else last + 1)


def _declarators(node: Node) -> Iterator[Node]:
    """The chain of C's declarators, outermost first."""
    inner = node.child_by_field_name("declarator")
    while inner is not None:
        yield inner
        inner = inner.child_by_field_name("declarator")


def _name(node: Node) -> str:
    if node.type == "section":
        heading = next((child for child in node.named_children if child.type.endswith("_heading")), None)
        return " ".join(text_of(heading).strip("#=- \n\t").split()) if heading is not None else ""
    if node.type == "impl_item":
        trait, name = (_type_name(node.child_by_field_name(key)) for key in ("trait", "type"))
        return f"{trait} for {name}" if trait else name
    for key in ("name", "left", "key"):
        found = node.child_by_field_name(key)
        if found is not None:
            if found.type == "member_expression":
                found = found.child_by_field_name("property") or found
            return _unquoted(text_of(found))
    chain = list(_declarators(node))
    if chain:
        return text_of(chain[-1]).strip("*& ")
    found = next((child for child in node.named_children if child.type in _NAMED), None)
    return _unquoted(text_of(found)) if found is not None else ""


def _type_name(node: Node | None) -> str:
    """The name of a type, without what it is generic in."""
    return (
        next((text_of(each) for each in walk(node) if each.type == "type_identifier"), "") if node is not None else ""
    )


def _unquoted(name: str) -> str:
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in _QUOTES else name


def _owner(node: Node) -> str:
    """The type a Go method belongs to, or the object a JavaScript property is given to: A in `A.prototype.f = …`."""
    receiver = node.child_by_field_name("receiver")
    if receiver is not None:
        return next((text_of(each) for each in walk(receiver) if each.type == "type_identifier"), "")
    left = node.child_by_field_name("left")
    if left is not None and left.type == "member_expression":
        names = text_of(left).split(".")[:-1]
        named = [name for name in names if name not in ("prototype", "module", "exports", "this", "window")]
        return named[-1] if named else ""
    return ""


def _receiver(node: Node) -> str:
    found = node.child_by_field_name("receiver")
    return " ".join(text_of(found).split()) if found is not None else ""


def _body(node: Node) -> Node | None:
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    of = value if value is not None and value.type in (*_FUNCTIONS, "class") else node
    return of.child_by_field_name("body")


def _signature_end(node: Node) -> int:
    body = _body(node)
    if body is None:
        return node.start_point[0] + 1
    row = body.start_point[0]
    return max(node.start_point[0] + 1, row + 1 if text_of(body).startswith("{") else row)


def _parameters(node: Node, grammar: Grammar) -> Iterator[str]:
    for each in walk(node):
        if each.type in grammar.parameters:
            for inner in each.named_children:
                name = inner.child_by_field_name("name") or inner.child_by_field_name("pattern") or inner
                chain = list(_declarators(inner))
                if chain:
                    name = chain[-1]
                found = next((one for one in walk(name) if one.type in ("identifier", "field_identifier")), None)
                if found is not None:
                    yield text_of(found)
            if each.parent is not None and each.parent.child_by_field_name("receiver") == each:
                continue
            return


def _docstring(node: Node) -> tuple[int, int] | None:
    body = node.child_by_field_name("body")
    if body is None or body.type != "block" or not body.named_children:
        return None
    first = body.named_children[0]
    if first.type == "expression_statement" and first.named_children and first.named_children[0].type == "string":
        return _lines_of(first)
    return _lines_of(first) if first.type == "string" else None
