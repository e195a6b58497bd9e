"""A source file as units: each definition, statement, table key or section with its comments, in the file's order.

The judge of an edit (`judge`) compares these. It is deliberately not the code by which `lacli edit` finds and checks
parts: a suite that shared it would share its mistakes. Text in, units out; knows no task and no model.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import PurePath

from tree_sitter import Language, Node, Parser

IMPORTS = "import"
"""The path of everything that brings names from elsewhere."""
_LANGUAGES = {
    ".py": "python",
    ".js": "javascript",
    ".go": "go",
    ".rs": "rust",
    ".c": "c",
    ".toml": "toml",
    ".md": "markdown",
}
_LEADING = {"comment", "line_comment", "block_comment", "attribute_item"}
"""What belongs to the unit below it."""
_IMPORTING = {
    "import_statement",
    "import_from_statement",
    "import_declaration",
    "use_declaration",
    "extern_crate_declaration",
    "preproc_include",
}


_HEADS = {"impl_item": "impl "}
"""A block of methods is no definition of the type it is named after."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A smallest part that is kept, changed or lost as one."""

    path: str
    """Names from the outside in, with points: "Queue.peek". Empty for a statement that defines nothing."""
    text: str
    """With the comments above it and its indentation, without the white space behind it."""
    gap: str
    """What stands between it and the next unit: white space, closing brackets."""


def language_of(name: str) -> str:
    """The grammar of a file name."""
    return _LANGUAGES[PurePath(name).suffix]


def parses(text: str, language: str) -> bool:
    """Whether the grammar takes all of it."""
    return not _root(text.encode(), language).has_error


@lru_cache(maxsize=64)
def units(text: str, language: str) -> tuple[Unit, ...]:
    """All units; joined with their gaps they are the text again, but for white space at its beginning."""
    data = text.encode()
    found = list(_units(_root(data, language).children, "", data, language))
    cut = []
    for number, (path, start, end) in enumerate(found):
        last = found[number + 1][1] if number + 1 < len(found) else len(data)
        body = data[start:end].decode().rstrip()
        cut.append(Unit(path, body, data[start + len(body.encode()) : last].decode()))
    return tuple(cut)


def words(text: str) -> list[str]:
    """Words and single signs: what a change of white space leaves equal."""
    return re.findall(r"\w+|[^\w\s]", text)


@cache
def _parser(language: str) -> Parser:
    module = importlib.import_module(f"tree_sitter_{language}")
    return Parser(Language(module.language()))


def _root(data: bytes, language: str) -> Node:
    return _parser(language).parse(data).root_node


def _units(nodes: Sequence[Node], outer: str, data: bytes, language: str) -> Iterator[tuple[str, int, int]]:
    """Path, start and end of each unit. Comments go to the unit below, on the same line to the one before."""
    lead: int | None = None
    last: tuple[str, int, int] | None = None
    row = -1
    for node in nodes:
        if not node.is_named or node.type == "block_continuation":
            continue
        if node.type in _LEADING:
            if last is not None and node.start_point[0] == row:
                last = (last[0], last[1], node.end_byte)
            elif lead is None:
                lead = _line_start(data, node.start_byte)
            continue
        if last is not None:
            yield last
        start = _line_start(data, node.start_byte) if lead is None else lead
        lead, row = None, node.end_point[0]
        name, members = _READ[language](node)
        path = f"{outer}.{name}" if outer and name else name or outer
        inside = list(_units(members, path, data, language))
        path = f"{_HEADS.get(node.type, '')}{path}"
        if inside:
            yield path, start, inside[0][1]
            yield from inside[:-1]
        last = inside[-1] if inside else (path, start, node.end_byte)
    if last is not None:
        yield last
    if lead is not None:  # comments with nothing below them
        yield outer, lead, nodes[-1].end_byte


def _line_start(data: bytes, at: int) -> int:
    start = data.rfind(b"\n", 0, at) + 1
    return at if data[start:at].strip() else start


def _text(node: Node | None) -> str:
    return (node.text or b"").decode() if node is not None else ""


def _field(node: Node, name: str) -> Node | None:
    return node.child_by_field_name(name)


Reading = tuple[str, list[Node]]
"""The name of a node, and the nodes within it that are units of their own."""


def _python(node: Node) -> Reading:
    inner = _field(node, "definition") if node.type == "decorated_definition" else node
    assert inner is not None
    if inner.type == "class_definition":
        body = _field(inner, "body")
        members = [each for each in body.children if each.is_named] if body is not None else []
        if members and members[0].type == "expression_statement" and _text(members[0])[:1] in "\"'rR":
            members = members[1:]  # the docstring belongs to the head
        return _text(_field(inner, "name")), members
    if inner.type == "expression_statement" and inner.children[0].type == "assignment":
        return _text(_field(inner.children[0], "left")), []
    return _plain(inner)


def _javascript(node: Node) -> Reading:
    inner = _field(node, "declaration") or node if node.type == "export_statement" else node
    if inner.type == "class_declaration":
        body = _field(inner, "body")
        return _text(_field(inner, "name")), list(body.children) if body is not None else []
    if inner.type in ("lexical_declaration", "variable_declaration"):
        return _text(_field(inner.named_children[0], "name")), []
    if inner.type == "field_definition":
        return _text(_field(inner, "property")), []
    if inner.type == "expression_statement" and inner.children[0].type == "assignment_expression":
        return _text(_field(inner.children[0], "left")), []
    return _plain(inner)


def _go(node: Node) -> Reading:
    if node.type == "method_declaration":
        owner = re.sub(r"\W", "", _text(_field(node, "receiver")).rpartition(" ")[2])
        return f"{owner}.{_text(_field(node, 'name'))}", []
    if node.type in ("type_declaration", "var_declaration", "const_declaration"):
        return _text(_field(node.named_children[0], "name")), []
    return _plain(node)


def _rust(node: Node) -> Reading:
    if node.type == "impl_item":
        of = _text(_field(node, "trait"))
        owner = re.sub(r"<.*", "", _text(_field(node, "type")))
        body = _field(node, "body")
        return f"{of} for {owner}" if of else owner, list(body.children) if body is not None else []
    return _plain(node)


def _c(node: Node) -> Reading:
    if node.type.startswith("preproc_if"):
        name = _field(node, "name")
        return "", [each for each in node.children if each.is_named and each != name]
    inner: Node | None = node
    while inner is not None and (deeper := _field(inner, "declarator")) is not None:
        inner = deeper
    return (_text(inner), []) if inner is not None and inner != node else _plain(node)


def _toml(node: Node) -> Reading:
    key = _text(node.named_children[0]) if node.named_children else ""
    if node.type in ("table", "table_array_element"):
        return key, node.named_children[1:]
    return key, []


def _markdown(node: Node) -> Reading:
    if node.type != "section":
        return "", []
    below = [each for each in node.children if each.type == "section"]
    heading = next((each for each in node.children if each.type.endswith("heading")), None)
    return _text(heading).strip("# \n"), below


def _plain(node: Node) -> Reading:
    if node.type in _IMPORTING:
        return IMPORTS, []
    return _text(_field(node, "name")), []


_READ: dict[str, Callable[[Node], Reading]] = {
    "python": _python,
    "javascript": _javascript,
    "go": _go,
    "rust": _rust,
    "c": _c,
    "toml": _toml,
    "markdown": _markdown,
}
