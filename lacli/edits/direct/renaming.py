"""A name changed wherever it is meant, by the syntax tree: a rename has one right result and needs no model.

What a name means is told by where it stands: a local or parameter within its function, a method or attribute behind a
dot, anything else as a name of its own. Where that does not tell, the place is left and said. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lacli.edits.find.intent import Intent
from lacli.edits.tree.file_names import LONG_ENDING
from lacli.edits.tree.grammar import GRAMMARS
from lacli.edits.tree.outline import Definition, Outline
from lacli.edits.tree.syntax import parsed, text_of, walk

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
_BINDS = frozenset(
    {"assignment", "named_expression", "for_statement", "for_in_clause", "as_pattern", "variable_declarator",
     "short_var_declaration", "range_clause", "let_declaration", "init_declarator", "for_expression"}
)  # fmt: skip
"""What gives a variable its name."""
_WORDS = re.compile(
    r"""\b(?:re-?name|call|change|the|a|an|its|it|this|name|names|of|to|into|as|be|called|named|should|must|in|inside|within|
    on|from|and|also|instead|everywhere|throughout|across|all|every|each|whole|entire|file|module|code|here|
    its|uses?|usages?|occurrences?|references?|callers?|calls?|places?|mentions?|accordingly|consistently|please|
    functions?|methods?|class|classes|variables?|parameters?|params?|arguments?|args?|attributes?|fields?|members?|
    propert(?:y|ies)|constants?|keys?|tables?|locals?|struct|structs|type|types|enum|macros?|trait|impl|both|where|
    is|are|used|with|for|that)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_NO_FILE = rf"(?!\.(?:{LONG_ENDING})\b(?!\())"
"""What is not behind a name in a comment: Node.js is no Node."""
_DELETE = re.compile(r"\b(?:remove|delete|drop|get rid of|eliminate|erase)\b", re.IGNORECASE)
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
    """Whether nothing but names is to change, and each to another identifier; what `intent.deletes` has may go, too."""
    if not intent.renames:
        return False
    names = {name for pair in intent.renames for name in pair}
    if not all(_IDENTIFIER.fullmatch(name) for name in names):
        return False
    rest = intent.text
    for name in sorted({*names, *intent.names}, key=len, reverse=True):
        rest = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", rest)
    if intent.deletes:
        rest = _DELETE.sub(" ", rest)
    return not re.search(r"\w", _WORDS.sub(" ", rest))


def renamed(text: str, outline: Outline, intent: Intent, spans: Sequence[tuple[int, int]]) -> Renamed | None:
    """The text with the renames of `intent` made in these lines. None where the tree cannot tell what is meant."""
    if not outline.sound or outline.language not in GRAMMARS or not spans:
        return None
    notes: list[str] = []
    problems: list[str] = []
    total = 0
    for old, new in intent.renames:
        kind = _kind(text, outline, old, spans)
        if " " in kind:
            return Renamed(text, 0, (), (kind,))
        if kind == "key":
            return None
        made = _one(text, outline, old, new, spans, kind)
        if not made.edits:
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


def _one(text: str, outline: Outline, old: str, new: str, spans: Sequence[tuple[int, int]], kind: str) -> _Places:
    """The places of one name. What is a name of its own is none behind a dot, and the other way round."""
    found = _Places()
    known = _Known(text, outline, old, kind)
    spans = [*spans, *((each.head, each.head + 1) for each in known.definitions)]
    for node in _leaves(text, outline.language, spans):
        row = node.start_point[0]
        if node.type in _TEXTS or _is_docstring(node):
            found.edits += _in_words(node, old, new)
        elif text_of(node) != old or known.means_another(node):
            continue
        elif _is_keyword(node):
            _keyword(node, known, outline, spans, new, found)
        elif _is_key(node):
            if kind == "member":
                found.left.append(row)
        elif node.type in _SHORT:
            if kind == "member":
                found.left.append(row)
            else:
                found.edits.append((node.start_byte, node.end_byte, f"{old}: {new}"))
        elif _is_member(node):
            _member(node, known, new, found)
        elif kind != "member" or known.is_defined_by(node):
            found.edits.append((node.start_byte, node.end_byte, new))
    if kind == "global":
        found.edits += _exported(text, outline.language, old, new)
    found.edits = list(dict.fromkeys(found.edits))
    return found


class _Known:
    """What is known of the name that is changed."""

    def __init__(self, text: str, outline: Outline, old: str, kind: str) -> None:
        self.old = old
        self.kind = kind
        self.definitions = [each for each in outline.definitions if each.name == old]
        self.owners = {each.path[-2] for each in self.definitions if len(each.path) > 1}
        self.classes = {each.name for each in outline.definitions if each.kind == "class"}
        lines = text.split("\n")
        imports = [line for start, end in outline.imports for line in lines[start:end]]
        self.imported = {word.rpartition("/")[2] for line in imports for word in re.findall(r"[\w/]+", line)} - {
            "import",
            "from",
            "as",
            "use",
            "self",
        }
        self._imports = {row for start, end in outline.imports for row in range(start, end)}
        self._shadows = _shadowing(text, outline, old) if kind == "global" else []

    def means_another(self, node: Node) -> bool:
        """Whether it is a name of another module, or of a function's own."""
        row = node.start_point[0]
        return row in self._imports or any(each.start <= row < each.end for each in self._shadows)

    def is_defined_by(self, node: Node) -> bool:
        """Whether this is the name in the definition of a member."""
        heads = {each.head for each in self.definitions if len(each.path) > 1}
        parent = node.parent
        left = parent.child_by_field_name("left") if parent is not None else None
        return _defines(node) or (node.start_point[0] in heads and left == node)


def _keyword(
    node: Node, known: _Known, outline: Outline, spans: Sequence[tuple[int, int]], new: str, found: _Places
) -> None:
    """The name of an argument: of the function whose parameter is meant, or of a class that has the member."""
    called = _called(node)
    if (known.kind == "local" and _calls_in(node, outline, spans)) or (
        known.kind == "member" and called in known.owners
    ):
        found.edits.append((node.start_byte, node.end_byte, new))
    elif known.kind == "member" and called not in ("dict",):
        found.left.append(node.start_point[0])


def _member(node: Node, known: _Known, new: str, found: _Places) -> None:
    """A name behind a dot: surely the one that is meant, perhaps, or not."""
    owner = _owner(node)
    if known.kind == "global":
        if owner in ("exports", "module.exports"):
            found.edits.append((node.start_byte, node.end_byte, new))
        return
    if known.kind != "member" or owner.split(".")[0] in known.imported:
        return
    if owner in (*_OWN, *known.classes) or (len(known.definitions) <= 1 and known.old not in _BUILT_IN):
        found.edits.append((node.start_byte, node.end_byte, new))
    else:
        found.left.append(node.start_point[0])


def _kind(text: str, outline: Outline, old: str, spans: Sequence[tuple[int, int]]) -> str:
    """What sort of name it is, where it is defined tells: local, member, global, key; or why that cannot be told."""
    definitions = [each for each in outline.definitions if each.name == old]
    if any(each.kind in ("heading", "table", "key") for each in definitions):
        return "key"
    members = [each for each in definitions if len(each.path) > 1]
    if len({each.path for each in definitions}) > 1 and (len(members) < len(definitions) or len(members) > 1):
        labels = ", ".join(dict.fromkeys(f"{each.label} (line {each.head + 1})" for each in definitions))
        return f"{old} is defined more than once: {labels}; rename them one by one, as FILE:A-B"
    if definitions:
        return "member" if members else "global"
    plain = any(
        text_of(node) == old and node.type in _NAMES and not _is_member(node) and not _is_keyword(node)
        for node in _leaves(text, outline.language, spans)
    )
    return "local" if plain else "member"


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


def _is_key(node: Node) -> bool:
    """Whether the name is a key in a literal: of an object, or of a struct."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type in ("pair", "field_initializer"):
        return parent.children[0] == node
    above = parent.parent
    return above is not None and above.type == "keyed_element" and above.children[0] == parent


def _called(node: Node) -> str:
    """The last name of what a keyword is given to."""
    call = node.parent.parent.parent if node.parent is not None and node.parent.parent is not None else None
    called = call.child_by_field_name("function") if call is not None else None
    return text_of(called).rpartition(".")[2] if called is not None else ""


def _calls_in(node: Node, outline: Outline, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a keyword is given to the very function whose parameter is renamed."""
    name = _called(node)
    return any(
        each.name == name
        for each in outline.definitions
        if each.kind == "function" and any(each.start <= start and end <= each.end for start, end in spans)
    )


def _shadowing(text: str, outline: Outline, old: str) -> list[Definition]:
    """Functions in which the name is a parameter, or a variable of their own."""
    tree = parsed(text, outline.language)
    rows = set()
    for node in walk(tree.root_node) if tree is not None else ():
        bound = next((found for key in ("left", "name", "pattern") if (found := node.child_by_field_name(key))), None)
        if (
            node.type in _BINDS
            and bound is not None
            and any(text_of(each) == old and each.type in _NAMES and not _is_member(each) for each in walk(bound))
        ):
            rows.add(node.start_point[0])
    functions = [each for each in outline.definitions if each.kind == "function"]
    return [
        each
        for each in functions
        if old in each.parameters or (each.name != old and any(each.head < row < each.end for row in rows))
    ]


def _is_docstring(node: Node) -> bool:
    parent = node.parent
    return node.type == "string" and parent is not None and parent.type in ("expression_statement", "block", "module")


def _in_words(node: Node, old: str, new: str) -> list[tuple[int, int, str]]:
    """The name as a word in a comment, where it can be no word of English."""
    plain = old.islower() and old.isalpha()
    pattern = (
        rf"(?<=[`'\"])({re.escape(old)})(?=[`'\"(])|\b({re.escape(old)})(?=\()"
        if plain
        else rf"\b{re.escape(old)}\b{_NO_FILE}"
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
