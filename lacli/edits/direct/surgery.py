"""Definitions taken out of a file, or to another place in it: what has one right result and needs no model. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lacli.edits.find.intent import Intent
from lacli.edits.tree.outline import Definition, Outline

_WORDS = re.compile(
    r"\b(?:please|the|a|an|of|from|in|inside|to|and|also|both|all|whole|entire|unused|now|dead|old|obsolete|it|is|no|"
    r"longer|needed|used|any|more|remove|delete|drop|get|rid|kill|eliminate|move|put|place|directly|right|just|"
    r"functions?|methods?|class|classes|structs?|constants?|variables?|fields?|keys?|tables?|sections?|headings?|"
    r"subsections?|tests?|enums?|macros?|definitions?|file|module)\b",
    re.IGNORECASE,
)
_MOVE = re.compile(r"\bmove\b(.*?)\b(above|before|below|after|behind|under(?:neath)?)\b(.*)", re.IGNORECASE | re.DOTALL)
_REMOVE = re.compile(r"\b(?:remove|delete|drop|get rid of|kill|eliminate)\b", re.IGNORECASE)
_DERIVE = re.compile(
    r"\s*(?:[Pp]lease\s+)?(?:[Aa]lso\s+)?[Dd]erive\s+(?P<traits>`?[A-Z]\w*`?(?:(?:,\s*(?:and\s+)?|\s+and\s+)`?[A-Z]\w*`?)*)\s+"
    r"(?:for|on)\s+(?:the\s+)?(?:struct\s+|enum\s+|type\s+)?`?(?P<type>[A-Z]\w*)`?(?:\s+(?:struct|enum|type))?"
    r"(?:,?\s+(?:too|as well|also))?[.!]?\s*",
)
_DERIVED = re.compile(r"\s*#\[derive\((?P<names>[\w\s,:]*)\)\]\s*")
_ABOVE = ("above", "before")


def removed(text: str, outline: Outline, intent: Intent) -> str | None:
    """The text without the definitions that the instruction wants to be gone, where it wants nothing else."""
    gone = [each for each in _named(outline, intent) if each.name in intent.removes or each.label in intent.removes]
    gone = [each for each in gone if not any(other is not each and _holds(each, other) for other in gone)]
    if not gone or not outline.sound or not _REMOVE.search(intent.text) or not _is_all(intent, outline):
        return None
    if len({each.name for each in gone}) < len(gone):  # which of them is meant is not for us to guess
        return None
    if any(_shares_lines(each, outline) for each in gone):
        return None
    return _taken_out(text, outline, gone)


def _taken_out(text: str, outline: Outline, gone: Sequence[Definition]) -> str:
    lines: list[object] = [*text.split("\n")]
    empty = _emptied(text, outline, gone)
    first = {each.parent: each for each in reversed(gone)}
    for each in reversed(gone):
        if each.parent in empty and each is first[each.parent]:  # which would not parse without a statement
            lines[each.start : each.end] = [_indent(str(lines[each.head])) + "pass"]
        else:
            lines = _cut(lines, each.start, each.end)
    return "\n".join(map(str, lines))


def deletable(outline: Outline, intent: Intent) -> list[str]:
    """The labels of what the instruction deletes beside its other wishes, and the syntax tree can take out: what is
    surely asked for is not left to the model."""
    gone = [
        each
        for each in _named(outline, intent)
        if each.kind in ("function", "class") and (each.name in intent.deletes or each.label in intent.deletes)
    ]
    if not outline.sound or len({each.name for each in gone}) < len(gone):
        return []
    if any(_shares_lines(each, outline) or _holds(other, each) for each in gone for other in gone):
        return []
    return [each.label for each in gone]


def without(text: str, outline: Outline, labels: Sequence[str]) -> str:
    """The text without the functions and classes of these labels, as far as it has them."""
    gone = [each for each in outline.definitions if each.label in labels and each.kind in ("function", "class")]
    return _taken_out(text, outline, gone) if gone and outline.sound else text


def moved(text: str, outline: Outline, intent: Intent) -> str | None:
    """The text with one definition above or below another, where the instruction wants nothing else."""
    found = _MOVE.search(intent.text)
    if found is None or not outline.sound or not _is_all(intent, outline, found[2]):
        return None
    what, where = (_only(outline, intent, part) for part in (found[1], found[3]))
    if what is None or where is None or what.parent != where.parent or _shares_lines(what, outline):
        return None
    if _shares_lines(where, outline):
        return None
    lines = text.split("\n")
    body = lines[what.start : what.end]
    gap = _gap_beside(lines, what)
    at = where.start if found[2].lower() in _ABOVE else where.end
    marker = object()
    marked: list[object] = [*lines[:at], marker, *lines[at:]]
    start = what.start + (at <= what.start)
    rest = _cut(marked, start, start + len(body))
    place = rest.index(marker)
    new = [*body, *[""] * gap] if found[2].lower() in _ABOVE else [*[""] * gap, *body]
    return "\n".join(str(line) for line in [*rest[:place], *new, *rest[place + 1 :]])


def derived(text: str, outline: Outline, intent: Intent) -> str | None:
    """The text with traits derived for a type of Rust, where that is all that is asked for."""
    found = _DERIVE.fullmatch(intent.text)
    if outline.language != "rust" or found is None or not outline.sound:
        return None
    lines = text.split("\n")
    types = [each for each in outline.definitions if each.name == found["type"] and each.kind == "class"]
    types = [each for each in types if re.search(r"\b(?:struct|enum|union)\b", lines[each.head])]
    if len(types) != 1:
        return None
    each = types[0]
    attributes = [(row, _DERIVED.fullmatch(lines[row])) for row in range(each.start, each.head)]
    row, has = next(((row, match) for row, match in attributes if match), (each.head, None))
    had = [name.strip() for name in has["names"].split(",") if name.strip()] if has else []
    wanted = [name for name in re.findall(r"[A-Z]\w*", found["traits"]) if name not in had]
    if not wanted or (has is None and any("derive" in lines[at] for at in range(each.start, each.head))):
        return None
    indent = _indent(lines[each.head])
    lines[row : row + (has is not None)] = [f"{indent}#[derive({', '.join([*had, *wanted])})]"]
    return "\n".join(lines)


def _cut(lines: Sequence[object], start: int, end: int) -> list[object]:
    """The lines without these, and without the blank ones that stood between them and what follows."""
    behind = end
    while behind < len(lines) and lines[behind] == "":
        behind += 1
    ahead = start
    while ahead and lines[ahead - 1] == "":
        ahead -= 1
    if behind == len(lines):  # the last thing of the file
        return [*lines[:ahead], *([""] if lines[-1] == "" else [])]
    blank = max(start - ahead, behind - end) if ahead else 0
    closes = str(lines[behind]).strip()[:1] in ("}", ")", "]") if isinstance(lines[behind], str) else False
    opens = ahead == start and str(lines[ahead - 1]).rstrip()[-1:] in (":", "{", "(", "[")  # the first of a block
    return [*lines[:ahead], *[""] * (0 if closes or opens else blank), *lines[behind:]]


def _emptied(text: str, outline: Outline, gone: Sequence[Definition]) -> set[int | None]:
    """The places of what loses all its statements, where the language wants one (Python); comments are none."""
    if outline.language != "python":
        return set()
    lines = text.split("\n")
    cut = {row for each in gone for row in range(each.start, each.end)}
    cut.update(row for start, end in outline.comments for row in range(start, end))
    found: set[int | None] = set()
    for at in {each.parent for each in gone if each.parent is not None}:
        holder = outline.definitions[at]
        if not any(lines[row].strip() for row in range(holder.signature_end, holder.end) if row not in cut):
            found.add(at)
    return found


def _gap_beside(lines: Sequence[str], each: Definition) -> int:
    """Blank lines between a definition and its neighbour."""
    behind = 0
    while each.end + behind < len(lines) and not lines[each.end + behind]:
        behind += 1
    ahead = 0
    while each.start - ahead > 0 and not lines[each.start - ahead - 1]:
        ahead += 1
    return ahead or behind


def _named(outline: Outline, intent: Intent) -> list[Definition]:
    dotted = {name for name in intent.names if "." in name}
    found = [
        each
        for each in outline.definitions
        if each.label in intent.names
        or any(each.label.endswith("." + name) for name in dotted)
        or (each.name in intent.names and not any(name.rpartition(".")[2] == each.name for name in dotted))
    ]
    owners = [each for each in found if each.kind in ("class", "table", "heading")]
    kept = []
    for each in found:  # "remove x from Y" means the x in there
        same = [other for other in found if other.name == each.name]
        held = [one for one in same if any(owner is not one and _holds(owner, one) for owner in owners)]
        if not held or each in held:
            kept.append(each)
    return kept


def _only(outline: Outline, intent: Intent, words: str) -> Definition | None:
    """The definition that this piece of the instruction names, if it is one."""
    named = [each for each in _named(outline, intent) if re.search(rf"(?<![\w.]){re.escape(each.name)}(?!\w)", words)]
    named += [each for each in _named(outline, intent) if each.label in words and each not in named]
    small = [each for each in named if not any(other is not each and _holds(each, other) for other in named)]
    return small[0] if len(small) == 1 else None


def _holds(outer: Definition, inner: Definition) -> bool:
    return outer.path == inner.path[: len(outer.path)] and len(outer.path) < len(inner.path)


def _is_all(intent: Intent, outline: Outline, *more: str) -> bool:
    """Whether the instruction says nothing else: its words but for the names."""
    if intent.renames or intent.adds:
        return False
    rest = intent.text
    names = {*intent.names, *(part for name in intent.names for part in name.split("."))}
    for name in sorted(names, key=len, reverse=True):
        rest = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", rest, flags=re.IGNORECASE if " " in name else 0)
    for word in more:
        rest = rest.replace(word, " ")
    return not re.search(r"\w", _WORDS.sub(" ", rest))


def _shares_lines(each: Definition, outline: Outline) -> bool:
    """Whether something else stands on the lines of a definition."""
    return any(
        other is not each
        and not _holds(each, other)
        and not _holds(other, each)
        and other.start < each.end
        and each.start < other.end
        for other in outline.definitions
    )


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
