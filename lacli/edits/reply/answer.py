"""What a reply gives for a part of a file: which lines, and what else of it must not get into the file. Pure.

The reply may be the part in a code block, as asked; with the class around it that it stands in; with other definitions
of the file before and after it; SEARCH/REPLACE blocks or a diff. It is taken as what it is.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lacli.edits.reply.patches import NotFound, diff_hunks, has_marks, is_diff, replaced, search_blocks
from lacli.edits.reply.reply import rewritten
from lacli.edits.tree.outline import Definition, Outline, outline
from lacli.text.fences import blocks, longer_than_any

_NUMBERED = re.compile(r"^ {0,4}\d+(?:[:|]|\t| {2})[ \t]?")
_ONLY_THIS = "the reply goes beyond this part; what is around it stays as it is"
_NUMBERS_FROM = 3
"""So many numbered lines are no list of numbers."""


@dataclass(frozen=True, slots=True)
class Given:
    """The text that a reply gives for a part."""

    text: str
    """Each line with its \\n."""
    imports: tuple[str, ...] = ()
    """Imports the reply brings along that belong to the top of the file."""
    notes: tuple[str, ...] = ()


class Unusable(Exception):
    """The reply gives nothing that could be taken; the message says why, for the user and for the model."""


def as_block(code: str) -> str:
    """Code as a reply would have it."""
    fence = longer_than_any(code)
    return f"{fence}\n{code.removesuffix(chr(10))}\n{fence}\n"


def given(reply: str, part: str, ended: bool = True) -> Given:
    """What the reply gives for the text of a part. Raises Unusable."""
    changes = search_blocks(reply)
    if not changes:
        diffs = [block for block in blocks(reply) if is_diff(block)]
        changes = [change for block in diffs for change in diff_hunks(block.text)]
    if changes:
        try:
            return Given(replaced(part, changes))
        except NotFound as error:
            raise Unusable(str(error)) from None
    if has_marks(reply) and not has_marks(part):
        raise Unusable("the reply has marks of a change that are not complete")
    found = rewritten(reply, part, ended)
    if found is None:
        raise Unusable("the reply has no code block")
    if not found.whole:
        raise Unusable("the reply is unfinished")
    return Given(_without_numbers(found.text, part))


def fitted(
    made: Given, names: Sequence[str], container: tuple[str, ...], part: str, before: Outline, language: str
) -> Given:
    """Of a text given for one definition, what belongs into its place: without what the model wrote around it.

    `names`: what the definition may be called afterwards; `container`: the path of what it stands in; `before`: the
    outline of the whole file.
    """
    new = _outline(made.text, language)
    if new is None or not new.definitions:
        return made
    lines = made.text.split("\n")
    wanted = _meant(new, names, container)
    if wanted is None:
        return made
    if wanted.parent is not None:  # it came with what it stands in
        keep = "\n".join(lines[wanted.start : wanted.end]) + "\n"
        return replace(made, text=_dedented(keep, part), notes=(*made.notes, _ONLY_THIS))
    known = {each.path for each in before.definitions}
    own = {each.path for each in (_outline(part, language) or before).definitions if each.parent is None}
    level = [each for each in new.definitions if each.parent is None]
    fresh = [
        each
        for each in level
        if each is wanted or each.path in own or not ((*container, *each.path) in known or each.path in known)
    ]
    in_part = set(part.split("\n"))
    brought = [(start, end) for start, end in new.imports if not any(line in in_part for line in lines[start:end])]
    imports = tuple("\n".join(lines[start:end]) for start, end in brought)
    rows = {row for each in fresh for row in range(each.start, each.end)}
    moved = {row for start, end in brought for row in range(start, end)}
    beyond = any(line.strip() for row, line in enumerate(lines) if row not in rows and row not in moved)
    if not beyond and not moved:
        return made
    first, last = min(rows), max(rows)
    kept = [line for row, line in enumerate(lines[first : last + 1], first) if row in rows or not line.strip()]
    notes = (*made.notes, _ONLY_THIS) if beyond else made.notes
    return Given("\n".join(kept) + "\n", (*made.imports, *imports), notes)


def _meant(new: Outline, names: Sequence[str], container: tuple[str, ...]) -> Definition | None:
    """The definition that was asked for: in its place in the whole file, alone, or in what it stands in."""
    found = [each for each in new.definitions if each.name in names]
    for is_it in (
        lambda each: each.path[:-1] == container,
        lambda each: each.parent is None,
        lambda each: bool(container) and each.path[:-1] == container[-1:],
    ):
        meant = next((each for each in found if is_it(each)), None)
        if meant is not None:
            return meant
    return found[0] if found else None


def insertions(made: Given, into: Definition | None, before: Outline, language: str) -> Given:
    """Of a text given for something new, the new definitions alone; those the file has already stay in the file."""
    new = _outline(made.text, language)
    if new is None or not new.definitions:
        return made
    lines = made.text.split("\n")
    level = [each for each in new.definitions if each.parent is None]
    wrapper = next((each for each in level if into is not None and each.name == into.name), None)
    if wrapper is not None:
        level = new.children(wrapper)
    inside = into.path if into is not None else ()
    known = {each.path for each in before.definitions}
    fresh = [each for each in level if (*inside, each.name) not in known and each.path not in known]
    if not fresh:
        raise Unusable("the reply has nothing that is not in the file already")
    if wrapper is None and len(fresh) == len(level):
        taken = _without_imports(lines, new)
    else:
        taken = "\n\n".join("\n".join(lines[each.start : each.end]) for each in fresh)
    imports = tuple("\n".join(lines[start:end]) for start, end in new.imports)
    return Given(taken.strip("\n") + "\n", (*made.imports, *imports), made.notes)


def _outline(text: str, language: str) -> Outline | None:
    """The outline of a piece that may be indented as it is in its file."""
    return outline(textwrap.dedent(text), language)


def _without_imports(lines: Sequence[str], new: Outline) -> str:
    gone = {at for start, end in new.imports for at in range(start, end)}
    return "\n".join(line for at, line in enumerate(lines) if at not in gone)


def _without_numbers(text: str, part: str) -> str:
    """The text without line numbers that the model put before each line."""
    lines = text.split("\n")
    written = [line for line in lines if line.strip()]
    if len(written) < _NUMBERS_FROM or not all(map(_NUMBERED.match, written)):
        return text
    if all(map(_NUMBERED.match, filter(str.strip, part.split("\n")))):
        return text
    return "\n".join(_NUMBERED.sub("", line) for line in lines)


def _dedented(text: str, part: str) -> str:
    """The lines moved so that the first stands where the part's first does."""
    lines = text.split("\n")
    have = next((_indent(line) for line in lines if line.strip()), "")
    want = next((_indent(line) for line in part.split("\n") if line.strip()), "")
    return "\n".join(want + line.removeprefix(have) if line.strip() else line for line in lines)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
