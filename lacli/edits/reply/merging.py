"""Code that holds some definitions of a file, put into the file: each in the place of the one it is a version of. Pure.

What is said in a chat is seldom the whole file. A block of two functions replaces those two, and what is new is added.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from lacli.edits.reply.placing import in_place_of, inserted, with_imports
from lacli.edits.tree.outline import Definition, Outline, outline
from lacli.text.lines import likeness

_A_VERSION = 0.6
"""Likeness from which a text is a version of the whole file."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The file with the definitions in it."""

    text: str
    spans: tuple[tuple[int, int], ...]
    """The lines of the old text that were replaced."""
    names: tuple[str, ...]
    """What was replaced or added."""


def merged(text: str, code: str, before: Outline | None) -> Merged | None:
    """The text with the definitions of `code`; None where that is no piece of the file, but all of it or none."""
    if before is None or not before.definitions:
        return None
    new = outline(textwrap.dedent(code), before.language)
    if new is None or not new.sound or not new.definitions or likeness(code, text) >= _A_VERSION:
        return None
    given = [each for each in new.definitions if each.parent is None]
    pairs = [(each, _same(each, before)) for each in given]
    top = [each for each in before.definitions if each.parent is None]
    if not any(old is not None for _, old in pairs) and not all(each.kind in ("function", "class") for each in given):
        return None
    if top and all(any(old is each for _, old in pairs) for each in top):
        return None
    lines = textwrap.dedent(code).split("\n")
    made = text
    spans: list[tuple[int, int]] = []
    for each, old in sorted(pairs, key=lambda pair: -(pair[1].start if pair[1] is not None else -1)):
        piece = "\n".join(lines[each.start : each.end]) + "\n"
        if old is not None:
            made = _replaced(made, old, piece)
            spans.append((old.start, old.end))
    for each, old in pairs:
        now = outline(made, before.language)
        if old is None and now is not None:
            made = inserted(made, now, None, None, "\n".join(lines[each.start : each.end]) + "\n")
    imports = ["\n".join(lines[start:end]) for start, end in new.imports]
    made = with_imports(made, before.language, imports)
    return Merged(made, tuple(sorted(spans)), tuple(each.label for each in given))


def _same(each: Definition, before: Outline) -> Definition | None:
    """The definition of the file that this one is a version of: by its path, else by its name where that is unique."""
    by_path = [old for old in before.definitions if old.path == each.path]
    by_name = [old for old in before.definitions if old.name == each.name and old.kind == each.kind]
    found = by_path or by_name
    return found[0] if len(found) == 1 else None


def _replaced(text: str, old: Definition, piece: str) -> str:
    lines = text.split("\n")
    start = old.start
    part = "\n".join(lines[start : old.end]) + "\n"
    body = in_place_of(part, piece).removesuffix("\n")
    return "\n".join([*lines[:start], *body.split("\n"), *lines[old.end :]])
