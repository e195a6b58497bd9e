"""A file in outline: what a model is shown of the parts that it is not to change. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lacli.edits.tree.outline import Definition, Outline

_MOST_LETTERS = 6000
"""Reading a prompt is the dearest part of an edit on a CPU: a sketch has to be worth its tokens."""
_LONGEST_SHOWN = 25
"""Lines of a constructor that is shown whole beside a method: it tells the attributes."""
_CONSTRUCTORS = ("__init__", "constructor", "__new__", "__post_init__")
_LONGEST_VALUE = 4
"""Lines of a variable that is shown whole."""


def sketch(text: str, outline: Outline, spans: Sequence[tuple[int, int]], about: Definition | None = None) -> str:
    """Imports and the heads of all definitions, with "..." for what is left out.

    `spans` are the lines that are shown elsewhere: of them only the heads stand here. Where that is too long, heads
    that are far from them go first. `about` is what something is added to.
    """
    lines = text.split("\n")
    keep = _kept(outline, spans, about)
    size = sum(len(lines[at]) + 1 for at in keep if at < len(lines))
    for at in sorted(keep, key=lambda line: -_distance(line, spans)):
        if size <= _MOST_LETTERS:
            break
        keep.remove(at)
        size -= len(lines[at]) + 1
    shown: list[str] = []
    for at, line in enumerate(lines):
        if at in keep:
            shown.append(line)
        elif line.strip() and (not shown or shown[-1].strip() != "..."):
            shown.append(line[: len(line) - len(line.lstrip())] + "...")
    return "\n".join(shown) + "\n" if keep else ""


def _kept(outline: Outline, spans: Sequence[tuple[int, int]], about: Definition | None) -> set[int]:
    keep = {at for start, end in outline.imports for at in range(start, end)}
    owners = {
        each.parent for each in outline.definitions for start, end in spans if each.start < end and start < each.end
    }
    if about is not None:
        owners.add(outline.definitions.index(about))
    for each in outline.definitions:
        parent = outline.definitions[each.parent] if each.parent is not None else None
        if parent is not None and parent.kind == "function":
            continue
        keep.update(range(each.head, min(each.signature_end, each.end)))
        if _is_whole(each, parent, owners, spans):
            keep.update(range(each.start, each.end))
    return keep


def _is_whole(
    each: Definition, parent: Definition | None, owners: set[int | None], spans: Sequence[tuple[int, int]]
) -> bool:
    """Whether a definition is short enough, or telling enough, to be shown to its end."""
    if any(each.start < end and start < each.end for start, end in spans):
        return False
    size = each.end - each.start
    if each.kind in ("variable", "key"):
        return size <= _LONGEST_VALUE
    return parent is not None and each.name in _CONSTRUCTORS and each.parent in owners and size <= _LONGEST_SHOWN


def _distance(line: int, spans: Sequence[tuple[int, int]]) -> int:
    return min((max(start - line, line - end + 1, 0) for start, end in spans), default=0)
