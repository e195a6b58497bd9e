"""A text taken apart for comparing: its definitions, imports, comments and tokens. Pure.

What checks an edit and what mends it compare these instead of lines, so that a line that moved or was wrapped anew is
not taken for a loss, and a loss not for a moved line.
"""

from __future__ import annotations

import ast
import functools
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacli.edits.tree.annotations import is_hint
from lacli.edits.tree.grammar import GRAMMARS
from lacli.edits.tree.hunks import hunks
from lacli.edits.tree.imports import Import, imports_in
from lacli.edits.tree.outline import Definition, Outline, outline
from lacli.edits.tree.syntax import is_sound, parsed, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_LEVELS = ("⇥", "⇤")
"""Stand for the beginning and the end of an indented block."""
_WHOLE = frozenset(
    {"string", "string_literal", "raw_string_literal", "interpreted_string_literal", "template_string", "char_literal",
     "character_literal", "rune_literal", "system_lib_string", "regex", "single_quote_scalar", "double_quote_scalar",
     "block_scalar"}
)  # fmt: skip
"""Nodes that are one token, whatever the grammar sees in them."""
_INDENTED = frozenset({"block", "block_mapping", "block_sequence"})
"""Nodes that only indentation shows: how deep each of their statements stands is a token of it."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment, with the code it belongs to."""

    text: str
    start: int
    end: int
    alone: bool
    """Whether it has its lines for itself."""
    code: str
    """The line of code below it; of one that stands behind code, that code. Empty where there is none."""
    code_row: int
    """Where that stands."""


class Pieces:
    """One text. Its parts are found when they are asked for."""

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.language = language
        self.lines = text.split("\n")
        self.outline: Outline | None = outline(text, language)

    @functools.cached_property
    def sound(self) -> bool | None:
        """Whether it parses; None where that cannot be told."""
        return is_sound(self.text, self.language)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        return self.outline.definitions if self.outline is not None else ()

    @functools.cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every name imported at the top level."""
        tree = parsed(self.text, self.language)
        return tuple(imports_in(tree.root_node, self.language)) if tree is not None else ()

    @functools.cached_property
    def comments(self) -> tuple[Comment, ...]:
        """Every block of comments."""
        return tuple(self._comments())

    @functools.cached_property
    def _leaves(self) -> tuple[list[int], list[str]]:
        found = list(self._tokens(lambda _: False))
        return [row for row, _ in found], [token for _, token in found]

    @functools.cached_property
    def unhinted(self) -> tuple[tuple[int, str], ...]:
        """Each token with the line it begins in, without type hints and the imports at the top; the first token of an
        indented statement tells how deep it stands."""
        found: list[tuple[int, str]] = []
        depth = ""
        for row, token in self._tokens(is_hint(self.language)):
            if token[0] == _LEVELS[0]:
                depth = token
                continue
            found.append((row, depth + token))
            depth = ""
        return tuple(found)

    def tokens(self, start: int = 0, end: int | None = None) -> tuple[str, ...]:
        """The tokens that begin in these lines. Comments are none."""
        rows, tokens = self._leaves
        behind = len(rows) if end is None else bisect_left(rows, end)
        return tuple(tokens[bisect_left(rows, start) : behind])

    def tokens_of(self, definition: Definition) -> tuple[str, ...]:
        """The tokens of a definition, with all that stands in it."""
        return _balanced(self.tokens(definition.start, definition.end))

    def own_tokens(self, definition: Definition) -> tuple[str, ...]:
        """The tokens of a definition without those of the definitions in it."""
        found: list[str] = []
        at = definition.start
        for child in self.children(definition):
            found += self.tokens(at, child.start)
            at = max(at, child.end)
        found += self.tokens(at, definition.end)
        return _balanced(found) if at == definition.start else tuple(token for token in found if token not in _LEVELS)

    @functools.cached_property
    def loose_rows(self) -> list[int]:
        """The lines with code outside of all definitions and imports."""
        held = {row for each in self.definitions if each.parent is None for row in range(each.start, each.end)}
        held.update(row for start, end in (self.outline.imports if self.outline else ()) for row in range(start, end))
        return [row for row in sorted(set(self._leaves[0])) if row not in held]

    def place(self, of: Definition) -> int:
        """The place of a definition in `definitions`."""
        return self._places[id(of)]

    @functools.cached_property
    def _places(self) -> dict[int, int]:
        return {id(each): at for at, each in enumerate(self.definitions)}

    def children(self, of: Definition | None) -> list[Definition]:
        """What stands directly in a definition; at the top of the file for None."""
        return self._children.get(None if of is None else self.place(of), [])

    @functools.cached_property
    def _children(self) -> dict[int | None, list[Definition]]:
        found: dict[int | None, list[Definition]] = {}
        for each in self.definitions:
            found.setdefault(each.parent, []).append(each)
        return found

    def ancestors(self, of: Definition) -> Iterator[Definition]:
        """What a definition stands in, innermost first."""
        while of.parent is not None:
            of = self.definitions[of.parent]
            yield of

    def text_of(self, start: int, end: int) -> str:
        """These lines as one text."""
        return "\n".join(self.lines[start:end])

    def _tokens(self, is_skipped: Callable[[Node], bool]) -> Iterator[tuple[int, str]]:
        tree = parsed(self.text, self.language)
        if tree is None or self.language == "markdown":  # whose tree ends at blocks of prose
            for row, line in enumerate(self.lines):
                yield from ((row, word) for word in line.split())
            return
        comments = GRAMMARS[self.language].comments if self.language in GRAMMARS else frozenset({"comment"})
        pending: list[tuple[Node, int, bool]] = [(tree.root_node, 0, False)]
        row = 0
        while pending:
            node, depth, is_statement = pending.pop()
            if node.type in comments or is_skipped(node):
                continue
            row = max(row, node.start_point[0])
            if is_statement:
                yield row, f"⇥{depth}"
            if node.type in _WHOLE or not node.children:
                if text := text_of(node).strip():
                    yield row, text
                continue
            indents = node.type in _INDENTED and not text_of(node).startswith("{")
            pending.extend((child, depth + indents, indents) for child in reversed(node.children))

    def _comments(self) -> Iterator[Comment]:
        tree = parsed(self.text, self.language)
        if tree is None or self.language not in GRAMMARS:
            return
        kinds = GRAMMARS[self.language].comments
        found = [node for node in walk(tree.root_node) if node.type in kinds]
        block: list[tuple[int, int]] = []
        for node in found:
            first, column = node.start_point
            last = node.end_point[0] if node.end_point[1] else max(first, node.end_point[0] - 1)
            ahead = self.lines[first].encode("utf-8", "replace")[:column].decode("utf-8", "replace")
            if ahead.strip():
                yield Comment(text_of(node).strip(), first, first + 1, False, ahead.strip(), first)
                continue
            if block and first > block[-1][1] + 1:
                yield self._block(block)
                block = []
            block.append((first, last))
        if block:
            yield self._block(block)

    def _block(self, lines: Sequence[tuple[int, int]]) -> Comment:
        start, end = lines[0][0], lines[-1][1] + 1
        row = next((row for row in range(end, len(self.lines)) if self.lines[row].strip()), len(self.lines) - 1)
        text = "\n".join(line.strip() for line in self.lines[start:end])
        return Comment(text, start, end, True, self.lines[row].strip() if row >= end else "", row)


def _balanced(tokens: Sequence[str]) -> tuple[str, ...]:
    """The tokens without the ends of blocks that began before them: those end where their last line does."""
    depth = 0
    kept = []
    for token in tokens:
        depth += {"⇥": 1, "⇤": -1}.get(token, 0)
        if depth < 0:
            depth = 0
        else:
            kept.append(token)
    return tuple(kept)


@functools.lru_cache(maxsize=24)
def pieces(text: str, language: str) -> Pieces:
    """The text taken apart. Kept for a while: a check and each step of mending look at the same few texts."""
    return Pieces(text, language)


def mentions(tokens: Iterable[str], names: Iterable[str]) -> bool:
    """Whether one of these names stands among the tokens, or as a word in one of them."""
    wanted = [name for name in names if name]
    text = " ".join(tokens)
    return any(name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in wanted)


def renamed(text: str, renames: Mapping[str, str]) -> str:
    """The text with the old names, where they stand as words, as the new ones."""
    for old, new in renames.items():
        text = re.sub(rf"(?<![\w$]){re.escape(old)}(?![\w$])", new.replace("\\", r"\\"), text)
    return text


def matches(before: Pieces, after: Pieces, renames: Mapping[str, str]) -> list[Definition | None]:
    """For each definition of `before` the one that it became, None where it is gone.

    By path; of several with one path, as a property's getter and setter, first those whose heads are equal.
    """
    there: dict[tuple[str, ...], list[Definition]] = {}
    for each in after.definitions:
        there.setdefault(each.path, []).append(each)
    found: list[Definition | None] = [None] * len(before.definitions)
    for same_head in (True, False):
        for at, old in enumerate(before.definitions):
            if found[at] is not None:
                continue
            for path in dict.fromkeys((old.path, tuple(renamed(name, renames) for name in old.path))):
                # a class that became a function of its name is gone
                left = [new for new in there.get(path, []) if (new.kind == "class") == (old.kind == "class")]
                head = renamed(before.lines[old.head].strip(), renames)
                new = next(
                    (
                        new
                        for new in left
                        if not same_head or after.lines[new.head].strip() in (head, before.lines[old.head].strip())
                    ),
                    None,
                )
                if new is not None:
                    there[path].remove(new)
                    found[at] = new
                    break
    return found


def regions(before: Pieces, after: Pieces, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The lines of `after` that the picked lines of `before` became."""
    if len(spans) == 1:
        start, end = spans[0]
        return [(start, max(start, len(after.lines) - (len(before.lines) - end)))]
    changes = hunks(before.lines, after.lines)

    def place(line: int, behind: bool) -> int:
        delta = 0
        for change in changes:
            if change.end <= line and (change.start < line or behind):
                delta += (change.new_end - change.new_start) - (change.end - change.start)
        return line + delta

    return [(place(start, False), max(place(start, False), place(end, True))) for start, end in spans]


def file_docstring(text: str) -> tuple[str, int, int] | None:
    """What the docstring of a Python file says and its lines. Told by the tree, as a file that is being written seldom
    parses."""
    tree = parsed(text, "python")
    nodes = () if tree is None else tree.root_node.named_children
    first = next((node for node in nodes if node.type != "comment"), None)
    if first is None or [each.type for each in first.named_children] not in (["string"], ["concatenated_string"]):
        return None
    try:
        said = ast.literal_eval(text_of(first))
    except (SyntaxError, ValueError):  # no literal
        return None
    return (said, first.start_point[0], first.end_point[0] + 1) if isinstance(said, str) else None
