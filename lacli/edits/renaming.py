"""A name changed wherever it is meant, by the syntax tree: a rename has one right result and needs no model.

What a name means is told by where it stands: a local or parameter within its function, a method or attribute behind a
dot, anything else as a name of its own. Where that does not tell, the place is left and said. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from lacli.edits.grammar import GRAMMARS
from lacli.edits.intent import Intent
from lacli.edits.outline import Definition, Outline
from lacli.edits.syntax import parsed, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = frozenset({"identifier", "type_identifier", "package_identifier", "namespace_identifier"})
_MEMBERS = frozenset({"field_identifier", "property_identifier", "private_property_identifier"})
_SHORT = frozenset(
    {"shorthand_property_identifier", "shorthand_property_identifier_pattern", "shorthand_field_identifier"}
)
"""A name that is a key and a variable at once."""
_TEXTS = frozenset({"comment", "line_comment", "block_comment"})
_OWN = ("self", "cls", "this", "super", "Self")
_BUILT_IN = frozenset(
    name for kind in (str, bytes, list, dict, set, tuple, int) for name in dir(kind) if not name.startswith("_")
) | {"read", "write", "close", "open", "then", "catch", "map", "filter", "push", "forEach", "len", "next", "send"}
"""Methods of everyday objects: `x.get` may be anybody's."""
_WORDS = re.compile(
    r"""\b(?:re-?name|call|change|the|a|an|its|it|this|name|names|of|to|into|as|be|called|named|should|must|in|inside|within|
    on|from|and|also|instead|everywhere|throughout|across|all|every|each|whole|entire|file|module|code|here|
    its|uses?|usages?|occurrences?|references?|callers?|calls?|places?|mentions?|accordingly|consistently|please|
    functions?|methods?|class|classes|variables?|parameters?|params?|arguments?|args?|attributes?|fields?|members?|
    propert(?:y|ies)|constants?|keys?|tables?|locals?|struct|structs|type|types|enum|macros?|trait|impl|both|where|
    is|are|used|with|for|that)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[^\W\d]\w*|#[^\W\d]\w*")


@dataclass(slots=True)
class Renamed:
    """The text with its names changed."""

    text: str
    count: int
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _Places:
    """Byte ranges and what comes there."""

    edits: list[tuple[int, int, str]] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    """Lines with the name where it may mean something else."""


def is_purely_lexical(intent: Intent) -> bool:
    """Whether nothing but names is to change, and each to another identifier."""
    if not intent.renames:
        return False
    names = {name for pair in intent.renames for name in pair}
    if not all(_IDENTIFIER.fullmatch(name) for name in names):
        return False
    rest = intent.text
    for name in sorted({*names, *intent.names}, key=len, reverse=True):
        rest = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", rest)
    return not re.search(r"\w", _WORDS.sub(" ", rest))


def renamed(text: str, outline: Outline, intent: Intent, spans: Sequence[tuple[int, int]]) -> Renamed | None:
    """The text with the renames of `intent` made in these lines. None where the tree cannot tell what is meant."""
    if not outline.sound or outline.language not in GRAMMARS or not spans:
        return None
    notes: list[str] = []
    problems: list[str] = []
    total = 0
    for old, new in intent.renames:
        made = _one(text, outline, old, new, spans)
        if made is None or not made.edits:
            return None
        if any(text_of(node) == new for node in _leaves(text, outline.language, spans)):
            problems.append(f"{new} is a name there already")
        data = text.encode("utf-8", "replace")
        for start, end, what in sorted(made.edits, reverse=True):
            data = data[:start] + what.encode() + data[end:]
        text, total = data.decode("utf-8", "replace"), total + len(made.edits)
        if made.left:
            lines = ", ".join(str(line + 1) for line in dict.fromkeys(made.left))
            notes.append(f"{old} in line {lines} may be another one and stays")
    return Renamed(text, total, tuple(notes), tuple(problems))


def _one(text: str, outline: Outline, old: str, new: str, spans: Sequence[tuple[int, int]]) -> _Places | None:
    kind = _kind(outline, old, spans)
    if kind == "key":
        return None
    found = _Places()
    shadows = _shadowing(outline, old) if kind == "global" else []
    for node in _leaves(text, outline.language, spans):
        if node.type in _TEXTS or _is_docstring(node):
            found.edits += _in_words(node, old, new)
        elif text_of(node) != old or any(each.start <= node.start_point[0] < each.end for each in shadows):
            continue
        elif _is_member(node):
            if kind == "member" or (kind == "global" and _owner(node) in ("", *_OWN, "exports", "module")):
                _member(node, old, new, outline, found)
        elif node.type in _SHORT:
            found.edits.append((node.start_byte, node.end_byte, f"{old}: {new}" if kind != "member" else new))
        elif _is_keyword(node):
            if kind == "local" and not _calls_in(node, outline, spans):
                continue
            found.edits.append((node.start_byte, node.end_byte, new))
        elif kind != "member" or _defines(node):
            found.edits.append((node.start_byte, node.end_byte, new))
    if kind == "global":
        found.edits += _exported(text, outline.language, old, new)
    return found


def _kind(outline: Outline, old: str, spans: Sequence[tuple[int, int]]) -> Literal["local", "member", "global", "key"]:
    """What sort of name it is: where it is defined tells."""
    definitions = [each for each in outline.definitions if each.name == old]
    if any(each.kind in ("heading", "table", "key") for each in definitions):
        return "key"
    parents = [outline.definitions[each.parent] for each in definitions if each.parent is not None]
    if any(parent.kind == "class" for parent in parents) or any(len(each.path) > 1 for each in definitions):
        return "member"
    if definitions:
        return "global"
    within = [
        each
        for each in outline.definitions
        if each.kind == "function" and any(each.start <= start and end <= each.end for start, end in spans)
    ]
    return "local" if within else "member"


def _leaves(text: str, language: str, spans: Sequence[tuple[int, int]]) -> Iterator[Node]:
    tree = parsed(text, language)
    if tree is None:
        return
    for node in walk(tree.root_node):
        if node.child_count and node.type not in ("string", *_TEXTS):
            continue
        row = node.start_point[0]
        if node.type in (*_NAMES, *_MEMBERS, *_SHORT, *_TEXTS, "string") and any(
            start <= row < end or (node.type in _TEXTS and start <= node.end_point[0] < end) for start, end in spans
        ):
            yield node


def _is_member(node: Node) -> bool:
    """Whether the name stands behind a dot, an arrow or a path."""
    if node.type in _MEMBERS:
        return not _defines(node)
    parent = node.parent
    if parent is None:
        return False
    return parent.type in ("attribute", "member_expression", "field_expression", "selector_expression") and (
        parent.child_by_field_name("attribute") == node
        or parent.child_by_field_name("property") == node
        or parent.child_by_field_name("field") == node
    )


def _owner(node: Node) -> str:
    """What stands before the dot, where it is a name."""
    parent = node.parent
    of = None
    if parent is not None:
        of = next(
            (found for key in ("object", "operand", "argument", "value") if (found := parent.child_by_field_name(key))),
            None,
        )
    return text_of(of).split("(")[0] if of is not None else ""


def _member(node: Node, old: str, new: str, outline: Outline, found: _Places) -> None:
    classes = {each.name for each in outline.definitions if each.kind == "class"}
    defined = sum(each.name == old for each in outline.definitions)
    if _owner(node) in (*_OWN, *classes) or (defined == 1 and old not in _BUILT_IN):
        found.edits.append((node.start_byte, node.end_byte, new))
    else:
        found.left.append(node.start_point[0])


def _defines(node: Node) -> bool:
    """Whether this is the name in a definition."""
    parent = node.parent
    return parent is not None and (
        parent.child_by_field_name("name") == node
        or (parent.child_by_field_name("declarator") == node and not parent.type.endswith("_expression"))
        or parent.type in ("field_declaration", "property_signature", "field_definition", "public_field_definition")
    )


def _is_keyword(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "keyword_argument" and parent.child_by_field_name("name") == node


def _calls_in(node: Node, outline: Outline, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a keyword is given to the very function whose parameter is renamed."""
    call = node.parent.parent.parent if node.parent is not None and node.parent.parent is not None else None
    called = call.child_by_field_name("function") if call is not None else None
    name = text_of(called).rpartition(".")[2] if called is not None else ""
    return any(
        each.name == name
        for each in outline.definitions
        if each.kind == "function" and any(each.start <= start and end <= each.end for start, end in spans)
    )


def _shadowing(outline: Outline, old: str) -> list[Definition]:
    """Functions with a parameter of this name: in them it means that."""
    return [each for each in outline.definitions if old in each.parameters]


def _is_docstring(node: Node) -> bool:
    parent = node.parent
    return node.type == "string" and parent is not None and parent.type in ("expression_statement", "block", "module")


def _in_words(node: Node, old: str, new: str) -> list[tuple[int, int, str]]:
    """The name as a word in a comment, where it can be no word of English."""
    plain = old.islower() and old.isalpha()
    pattern = (
        rf"(?<=[`'\"])({re.escape(old)})(?=[`'\"(])|\b({re.escape(old)})(?=\()" if plain else rf"\b{re.escape(old)}\b"
    )
    data = node.text or b""
    return [
        (node.start_byte + each.start(), node.start_byte + each.end(), new)
        for each in re.finditer(pattern.encode(), data)
    ]


def _exported(text: str, language: str, old: str, new: str) -> list[tuple[int, int, str]]:
    """The name in Python's `__all__`."""
    if language != "python" or "__all__" not in text:
        return []
    tree = parsed(text, language)
    assert tree is not None
    found = []
    for node in tree.root_node.children:
        if text_of(node).startswith("__all__"):
            for each in walk(node):
                if each.type == "string_content" and text_of(each) == old:
                    found.append((each.start_byte, each.end_byte, new))
    return found
