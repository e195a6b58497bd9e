"""Where new text goes in a file: in the place of old lines, behind a definition, into the imports. Pure.

Texts have \\n line ends; what is there keeps its indentation and its blank lines.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from lacli.edits.tree.outline import Definition, Outline, outline

_BLANKS_BETWEEN = {"python": 2}
"""Blank lines between definitions at the top of a file, where it has none to go by; 1 elsewhere."""
_CLOSERS = "})];"


def in_place_of(part: str, new: str, alone: bool = False) -> str:
    """The new lines as deep as the old ones, with the blank lines around them that were there.

    `alone`: the part is all of the file, whose first lines may be blank or not as the writer likes.
    """
    new = as_deep(part, new)
    if not new.strip("\n"):
        return new
    if not alone:
        new = "\n" * (len(part) - len(part.lstrip("\n"))) + new.lstrip("\n")
    ends = len(part) - len(part.rstrip("\n")) if part.strip("\n") else 1
    return new.rstrip("\n") + "\n" * ends


def dedented(text: str) -> str:
    """The text as far left as it goes: models write a method so however deep it was, and copying stays copying."""
    indent = common_indent(text)
    return "\n".join(line.removeprefix(indent) for line in text.split("\n"))


def inserted(text: str, before: Outline, into: Definition | None, after: Definition | None, new: str) -> str:
    """The text with new definitions in it: at the end of `into`, or of the file, or directly behind `after`."""
    lines = text.removesuffix("\n").split("\n")
    siblings = (
        before.children(into) if into is not None else [each for each in before.definitions if each.parent is None]
    )
    if into is not None and after is not None and not any(each.start >= after.end for each in siblings):
        after = None  # the last one: behind it is the end
    at = after.end if after is not None else _end_of(lines, into, before)
    if into is not None:
        indent = _indent_within(lines, into, siblings)
        new = _indented(new, indent)
    gap = _gap(lines, siblings, before.language, new)
    head, tail = lines[:at], lines[at:]
    while head and not head[-1].strip():
        head.pop()
    closes = bool(tail) and tail[0].strip()[:1] in tuple(_CLOSERS)
    apart = next((count for count, line in enumerate(tail) if line.strip()), len(tail))
    tail = tail[apart:]
    first = bool(into and not siblings) or not head
    behind = 0 if closes or not tail else apart if into is not None and after is None else gap
    made = [*head, *[""] * (0 if first else gap), *new.strip("\n").split("\n"), *[""] * behind, *tail]
    return "\n".join(made) + "\n"


def with_imports(text: str, language: str, imports: Sequence[str]) -> str:
    """The text with these imports behind its own, but for those it has."""
    have = {" ".join(line.split()) for line in text.split("\n")}
    lines = [line for each in imports for line in each.split("\n")]
    new = [line.strip() if language != "go" else line for line in lines if " ".join(line.split()) not in have]
    found = outline(text, language)
    if not any(line.strip() for line in new) or found is None:
        return text
    old = text.split("\n")
    if language == "go":
        return "\n".join(_go_imports(old, found, new))
    at = max((end for _, end in found.imports), default=_behind_head(old, found))
    blank = [] if found.imports or (at < len(old) and not old[at].strip()) else [""]
    above = [""] if not found.imports and at and old[at - 1].strip() else []
    return "\n".join([*old[:at], *above, *dict.fromkeys(new), *blank, *old[at:]])


def _go_imports(old: list[str], found: Outline, new: Sequence[str]) -> list[str]:
    names = [part for line in new if (part := line.replace("import", "").strip(" ()\t"))]
    if not found.imports:
        at = next((row for row, line in enumerate(old) if line.startswith("package ")), 0) + 1
        return [*old[:at], "", *(f"import {name}" for name in names), *old[at:]]
    start, end = found.imports[0]
    have = {line.strip().removeprefix("import").strip() for line in old[start:end]}
    names = [name for name in names if name not in have]
    if "(" in old[start]:
        return [*old[: end - 1], *(f"\t{name}" for name in names), *old[end - 1 :]]
    return [*old[:end], *(f"import {name}" for name in names), *old[end:]]


def _behind_head(lines: Sequence[str], found: Outline) -> int:
    """The line behind what a file begins with: its shebang, its comments, the docstring of a module."""
    at = 0
    for start, end in found.comments:
        if start <= at or not any(line.strip() for line in lines[at:start]):
            at = end
    rest = "\n".join(lines[at:]).lstrip()
    for quote in ('"""', "'''"):
        if found.language == "python" and rest.startswith(quote) and quote in rest[3:]:
            skipped = "\n".join(lines[at:]).index(quote)
            close = "\n".join(lines[at:]).index(quote, skipped + 3)
            return at + "\n".join(lines[at:])[:close].count("\n") + 1
    return at


def _end_of(lines: Sequence[str], into: Definition | None, before: Outline) -> int:
    """The line before which something new at the end goes."""
    if into is not None and into.kind in ("table", "heading"):  # whose last line may close a list of its own
        return into.end
    if into is not None:
        last = lines[into.end - 1].strip() if into.end <= len(lines) else ""
        return into.end - 1 if last[:1] in tuple(_CLOSERS) and into.end - into.start > 1 else into.end
    for at in range(len(lines) - 1, -1, -1):  # a script's last words stay its last
        if before.language == "python" and lines[at].startswith("if __name__"):
            return at
    return len(lines)


def _indent_within(lines: Sequence[str], into: Definition, siblings: Sequence[Definition]) -> str:
    """The indentation of what stands in a definition."""
    own = _indent(lines[into.head])
    if into.kind in ("heading", "table"):
        return own
    inside = [_indent(lines[each.head]) for each in siblings if _indent(lines[each.head]) != own]
    inside += [_indent(line) for line in lines[into.signature_end : into.end] if len(_indent(line)) > len(own)]
    return inside[0] if inside else own + "    "


def _gap(lines: Sequence[str], siblings: Sequence[Definition], language: str, new: str) -> int:
    """Blank lines between siblings of the kind of what is new."""
    several = len(new.strip("\n").split("\n")) > 1
    alike = [each for each in siblings if (each.end - each.start > 1) == several] or list(siblings)
    gaps: Counter[int] = Counter()
    for one, other in itertools.pairwise(siblings):
        if other in alike and one.end <= other.start:
            between = lines[one.end : other.start]
            if not any(line.strip() for line in between):
                gaps[len(between)] += 1
    if gaps:
        return gaps.most_common(1)[0][0]
    nested = bool(siblings) and siblings[0].parent is not None
    return _BLANKS_BETWEEN.get(language, 1) if several and not nested else int(several)


def _indented(text: str, indent: str) -> str:
    lines = text.split("\n")
    have = common_indent(text)
    return "\n".join(indent + line[len(have) :] if line.strip() else "" for line in lines)


def as_deep(part: str, new: str) -> str:
    """The new lines as deep as the old ones where the model shifted all of them."""
    wanted, given = common_indent(part), common_indent(new)
    if wanted == given or not (wanted.startswith(given) or given.startswith(wanted)):
        return new
    shifted = "\n".join(
        wanted + line[len(given) :] if line.strip() else line.strip() if line.isspace() else line
        for line in new.split("\n")
    )
    same, as_shifted = _exactly_alike(part, new), _exactly_alike(part, shifted)
    if as_shifted != same:
        return shifted if as_shifted > same else new
    return shifted if _first_indent(shifted) == _first_indent(part) else new


def common_indent(text: str) -> str:
    indents = [_indent(line) for line in text.split("\n") if line.strip()] or [""]
    low, high = min(indents), max(indents)  # what these two share, all share
    return low[: next((at for at, letter in enumerate(low) if high[at] != letter), len(low))]


def _first_indent(text: str) -> str:
    return next((_indent(line) for line in text.split("\n") if line.strip()), "")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _exactly_alike(one: str, other: str) -> int:
    """How many lines both have, blank ones not counted."""
    ours, theirs = (Counter(line for line in text.split("\n") if line.strip()) for text in (one, other))
    return (ours & theirs).total()
