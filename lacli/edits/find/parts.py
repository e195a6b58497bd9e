"""Parts of a file, and how lines and definitions become them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lacli.edits.find.vocabulary import Vocabulary
from lacli.edits.tree.outline import Definition

Form = Literal["rewrite", "insert"]
CONTAINERS = ("class", "table", "heading")


@dataclass(frozen=True, slots=True)
class Part:
    """Whole lines of a file, from 0, `end` exclusive."""

    start: int
    end: int
    label: str
    kind: Literal["definition", "lines", "imports", "file"]


@dataclass(frozen=True, slots=True)
class Picked:
    """What an edit may change."""

    parts: tuple[Part, ...]
    """Disjoint, in file order. Empty only for an insertion behind `after`, or at the end of the file, which changes no
    line that there is."""
    form: Form = "rewrite"
    into: Definition | None = None
    """What a new definition is to stand in; None: at the top level of the file."""
    after: Definition | None = None
    """Behind which definition it goes; None: at the end of `into`, or of the file."""
    why: str = ""
    """One plain sentence."""
    sure: bool = True
    beside: tuple[Part, ...] = ()
    """Definitions that are to change, too, where something new is to come."""


def part_of(definition: Definition) -> Part:
    """All lines of a definition."""
    return Part(definition.start, definition.end, definition.label, "definition")


def lines(start: int, end: int) -> Part:
    """Lines that are no definition."""
    label = f"line {start + 1}" if end == start + 1 else f"lines {start + 1} to {end}"
    return Part(start, end, label, "lines")


def whole(vocabulary_lines: list[str], why: str) -> Picked:
    """The whole file, for want of anything better."""
    end = len(vocabulary_lines) - (not vocabulary_lines[-1])
    return Picked((Part(0, max(end, 1), "the file", "file"),), why=f"the whole file: {why}", sure=False)


def disjoint(parts: Iterable[Part]) -> tuple[Part, ...]:
    """In file order, without those that lie in others; lines that touch become one."""
    kept: list[Part] = []
    for part in sorted(set(parts), key=lambda each: (each.start, -each.end)):
        if kept and part.end <= kept[-1].end:
            continue
        if kept and part.kind == kept[-1].kind == "lines" and part.start <= kept[-1].end:
            kept[-1] = lines(kept[-1].start, part.end)
        else:
            kept.append(part)
    return tuple(kept)


def parts_of_rows(vocabulary: Vocabulary, rows: Iterable[int]) -> tuple[Part, ...]:
    """The smallest parts that hold some lines. Of what holds definitions of its own, such as a class, only the run of
    its own lines around the place: the definitions in it have nothing to do with it."""
    return disjoint(_part_of_row(vocabulary, row) for row in rows)


def _part_of_row(vocabulary: Vocabulary, row: int) -> Part:
    imports = imports_of(vocabulary)
    if imports is not None and imports.start <= row < imports.end:
        return imports
    holder = vocabulary.innermost(row)
    if holder is None:
        return lines(row, row + 1)
    inner = [each for each in vocabulary.outline.children(holder)] if holder.kind in CONTAINERS else []
    if not inner:
        return part_of(holder)
    start = max((each.end for each in inner if each.end <= row), default=holder.start)
    end = min((each.start for each in inner if each.start > row), default=holder.end)
    return _trimmed(vocabulary, start, end)


def _trimmed(vocabulary: Vocabulary, start: int, end: int) -> Part:
    """Without the blank lines around."""
    while start < end - 1 and not vocabulary.lines[start].strip():
        start += 1
    while end > start + 1 and not vocabulary.lines[end - 1].strip():
        end -= 1
    return lines(start, end)


def imports_of(vocabulary: Vocabulary) -> Part | None:
    """The first block of imports at the top level: those that no other code stands between."""
    ranges = vocabulary.outline.imports
    if not ranges:
        return None
    start, end = ranges[0]
    for first, last in ranges[1:]:
        between = vocabulary.lines[end:first]
        if any(vocabulary.innermost(row) is not None for row in range(end, first)) or sum(map(bool, between)) > 3:
            break
        end = last
    return Part(start, end, "the imports", "imports")


def head_of(vocabulary: Vocabulary) -> Part:
    """The head of the file: what stands before its first import or definition, at least its first line."""
    starts = [first for first, _ in vocabulary.outline.imports] + [
        each.start for each in vocabulary.outline.definitions
    ]
    return _trimmed(vocabulary, 0, max(1, min(starts, default=1)))
