"""Places that an instruction names by what they are: an item of a list, the `impl` of a trait for a type. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lacli.edits.find.marked import KINDS
from lacli.edits.find.vocabulary import Vocabulary
from lacli.edits.tree.outline import Definition

_CHANGES = r"\b(?:remove|delete|drop|add|append|insert|change|replace|update|set|move|sort)"
_IMPL = re.compile(
    r"(?P<new>\b(?:by|with|to|into|add|write|provide|implement|derive)\s+)?(?:(?P<a>an?|another|new)\s+|the\s+)*"
    r"impl(?:ementation)?s?\s+(?:of\s+)?`?(?:[\w]+::)*(?P<trait>[A-Z]\w*)(?P<generic><[^>]*>)?`?\s+for\s+`?(?P<type>[A-Z]\w*)",
)
_GOES = re.compile(
    r"\b(?:replace|replacing|remove|removing|delete|drop|convert|turn|swap)\s*(?:the\s*)?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Impl:
    """An `impl` block of Rust that an instruction names."""

    name: str
    """As an outline names it: `From for Id`."""
    definition: Definition | None
    """None where the file has none such, or several."""
    is_new: bool
    goes: bool
    """Whether it is to be removed or replaced."""


def impls(instruction: str, vocabulary: Vocabulary) -> list[Impl]:
    """Each that is named."""
    if vocabulary.outline.language != "rust":
        return []
    found: list[Impl] = []
    for match in _IMPL.finditer(instruction):
        name = f"{match['trait']} for {match['type']}"
        known = [each for each in vocabulary.outline.definitions if each.name == name]
        if match["generic"]:
            wanted = f"{match['trait']}{match['generic']}".replace(" ", "")
            known = [each for each in known if wanted in vocabulary.lines[each.head].replace(" ", "")]
        goes = _GOES.search(instruction[: match.start()].rstrip() + " ") is not None
        is_new = not known and bool(match["new"] or match["a"])
        found.append(Impl(name, known[0] if len(known) == 1 else None, is_new, goes))
    return found


def lists_of(instruction: str, vocabulary: Vocabulary) -> list[Definition]:
    """In files of keys, the lists of which an item is to change: "the classifier of Python 3.8" of `classifiers`."""
    if not vocabulary.is_data:
        return []
    found: list[Definition] = []
    for each in vocabulary.outline.definitions:
        one = f"{each.name[:-3]}y" if each.name.endswith("ies") else each.name.removesuffix("s")
        if each.kind != "key" or one == each.name or len(one) < 4 or re.fullmatch(KINDS, one):
            continue
        item = rf"{_CHANGES}\s+(?:the|an?|another|this|that)\s+(?:\w+\s+)?{re.escape(one)}(?![\w-])"
        if re.search(item, instruction, re.IGNORECASE) and len(vocabulary.definitions_of(each.name)) == 1:
            found.append(each)
    return found
