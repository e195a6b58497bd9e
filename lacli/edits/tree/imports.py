"""The names that a file imports at its top level. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacli.edits.tree.grammar import GRAMMARS
from lacli.edits.tree.syntax import text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_BLOCKS = frozenset({"program", "module", "source_file", "translation_unit", "preproc_ifdef", "preproc_if"})
"""What stands around imports of the top level."""


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name."""

    label: str
    """Where from and what: `os.path`, `collections.Counter`, `<stdio.h>`."""
    bound: str
    """The name it has in this file; empty where it is not known."""
    start: int
    """The first line of its statement."""
    end: int
    """Behind the last one."""


def imports_in(root: Node, language: str) -> Iterator[Import]:
    """The imports of a tree, in order."""
    grammar = GRAMMARS.get(language)
    if grammar is None:
        return
    for node in _statements(root, grammar.imports):
        if language == "go":
            yield from _go(node)
            continue
        start, end = _lines(node)
        for label, bound in _names(node, language):
            yield Import(label, bound, start, end)


def _statements(root: Node, kinds: frozenset[str]) -> Iterator[Node]:
    for child in root.children:
        if child.type in kinds:
            yield child
        elif child.type in _BLOCKS:
            yield from _statements(child, kinds)


def _names(node: Node, language: str) -> Iterator[tuple[str, str]]:
    if language == "python":
        yield from _python(node)
    elif language == "rust":
        yield from _rust(re.sub(r"\s+", " ", text_of(node)))
    elif language in ("javascript", "typescript"):
        yield from _script(node)
    elif language == "java":
        label = re.sub(r"^import\s+(static\s+)?|\s*;.*$", "", text_of(node).strip())
        yield label, label.rsplit(".", 1)[-1].strip("*")
    else:
        yield re.sub(r"^#\s*include\s*|^using\s+|\s*;.*$", "", text_of(node).strip()), ""


def _lines(node: Node) -> tuple[int, int]:
    start = node.start_point[0]
    return start, max(start + 1, node.end_point[0] + (node.end_point[1] > 0))


def _go(node: Node) -> Iterator[Import]:
    """Each has a line of its own."""
    for each in walk(node):
        if each.type == "import_spec":
            path, name = each.child_by_field_name("path"), each.child_by_field_name("name")
            label = text_of(path).strip('"`') if path is not None else text_of(each)
            yield Import(label, text_of(name) if name is not None else label.rsplit("/", 1)[-1], *_lines(each))


def _python(node: Node) -> Iterator[tuple[str, str]]:
    module = node.child_by_field_name("module_name")
    where = f"{text_of(module)}." if module is not None else ("__future__." if node.type.startswith("future") else "")
    if any(child.type == "wildcard_import" for child in node.children):
        yield f"{where}*", ""
    for each in node.children_by_field_name("name"):
        if each.type == "aliased_import":
            name, alias = each.child_by_field_name("name"), each.child_by_field_name("alias")
            if name is not None and alias is not None:
                yield where + text_of(name), text_of(alias)
        else:
            dotted = text_of(each)
            yield where + dotted, "" if node.type.startswith("future") else dotted.split(".")[0]


def _script(node: Node) -> Iterator[tuple[str, str]]:
    source = node.child_by_field_name("source")
    where = text_of(source).strip("\"'") if source is not None else ""
    found = False
    for each in walk(node):
        if each.type == "import_specifier":
            name, alias = each.child_by_field_name("name"), each.child_by_field_name("alias")
            label = text_of(name) if name is not None else text_of(each)
            found = True
            yield f"{label} from {where}", text_of(alias) if alias is not None else label
        elif each.type == "identifier" and each.parent is not None and each.parent.type != "import_specifier":
            found = True
            yield f"{text_of(each)} from {where}", text_of(each)
    if not found:
        yield where, ""


def _rust(text: str) -> Iterator[tuple[str, str]]:
    body = re.sub(r"^(?:pub(?:\([^)]*\))? )?(?:use|extern crate) |;$", "", text.strip())
    yield from _rust_tree(body.strip(), "")


def _rust_tree(text: str, ahead: str) -> Iterator[tuple[str, str]]:
    head, brace, rest = text.partition("{")
    if not brace:
        path, _, alias = text.strip().partition(" as ")
        last = path.rsplit("::", 1)[-1]
        bound = alias or (ahead.rstrip(":").rsplit("::", 1)[-1] if last == "self" else last)
        yield ahead + path, "" if bound == "*" else bound
        return
    depth, piece = 0, ""
    for letter in rest.rsplit("}", 1)[0] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and not depth:
            if piece.strip():
                yield from _rust_tree(piece.strip(), ahead + head)
            piece = ""
        else:
            piece += letter
