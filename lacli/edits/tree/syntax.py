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


_NEAR = 10
"""Lines above a place in which a mistake of Python's may be one of the place itself."""


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
    if language == "python" and not tree.root_node.has_error and _python_error(text) is not None:
        return False
    if language == "toml":
        import tomllib

        try:
            tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            return False
    return not tree.root_node.has_error


def has_grammar(language: str) -> bool:
    """Whether a language has trees here."""
    return _parser(language) is not None


def broken_above(text: str, language: str, line: int) -> bool:
    """Whether something above a line, counted from 0, is wrong in itself, whatever may stand at the line.

    A part of the file next to the one that the line is in may be wrong because of it.
    """
    tree = parsed(text, language)
    if tree is None:
        return False
    above = [node for node in tree.root_node.children if node.end_point[0] < line]
    if any(node.has_error for node in above[:-1]):
        return True
    error = _python_error(text) if language == "python" else None
    return error is not None and (error.lineno or line) < line - _NEAR and "never closed" not in error.msg


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


def _python_error(text: str) -> SyntaxError | None:
    """What Python's own parser says against a text; an error without a line where it cannot even read it."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in strings, which are not ours to judge
            ast.parse(text)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error))
    return None


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
