"""Syntax trees of source files, by tree-sitter. Pure.

The grammars are wheels of their own, one per language, and are imported on first use. A language without one has no
tree, and its files are treated as lines of text.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser, Tree

_GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "java": ("tree_sitter_java", "language"),
    "toml": ("tree_sitter_toml", "language"),
    "markdown": ("tree_sitter_markdown", "language"),
    "json": ("tree_sitter_json", "language"),
    "yaml": ("tree_sitter_yaml", "language"),
}


@functools.lru_cache(maxsize=8)
def parsed(text: str, language: str) -> Tree | None:
    """The tree of a text; None where the language has no grammar here. Positions in it are UTF-8 bytes.

    The last ones are kept: outline, checks and mending of one text ask for its tree one after the other.
    """
    parser = _parser(language)
    return None if parser is None else parser.parse(text.encode("utf-8", "replace"))


def is_sound(text: str, language: str) -> bool | None:
    """Whether a text parses without an error; None where that cannot be told.

    Python's own parser decides for Python, as tree-sitter's accepts more than Python does.
    """
    tree = parsed(text, language)
    if tree is None:
        return None
    if language == "python" and not tree.root_node.has_error:
        import ast
        import warnings

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of escapes in strings, which are not ours to judge
                ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    if language == "toml":
        import tomllib

        try:
            tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            return False
    return not tree.root_node.has_error


def walk(node: Node) -> Iterator[Node]:
    """This node and all below it, in the order of the text. Iterative: a tree may be deeper than Python's stack."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def text_of(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


@functools.cache
def _parser(language: str) -> Parser | None:
    if language not in _GRAMMARS:
        return None
    module, function = _GRAMMARS[language]
    try:
        from tree_sitter import Language, Parser

        return Parser(Language(getattr(importlib.import_module(module), function)()))
    except (ImportError, ValueError):  # no wheel for this machine, or one of another generation
        return None
