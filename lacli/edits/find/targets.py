"""Which definitions the names of an instruction pick, and whether that is sure. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lacli.edits.find.marked import KINDS
from lacli.edits.find.parts import CONTAINERS
from lacli.edits.find.roles import OBJECT, UNMARKED, USED, Role
from lacli.edits.find.sentence import Sentence
from lacli.edits.find.vocabulary import Vocabulary
from lacli.edits.tree.outline import Definition

_SEVERAL = re.compile(
    r"\b(?:everywhere|both|all|every|each|two|three|methods|functions|classes|sections|keys|tables|structs|versions|overloads|implementations|definitions)\b",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(
    r"\b(?:parameter|argument|param|arg|signature|return\s+type|prototype|static|const|inline|void)s?\b", re.IGNORECASE
)


@dataclass(slots=True)
class Candidates:
    """What a name may stand for."""

    role: Role
    definitions: list[Definition]
    is_definition: bool
    """Whether they are defined by that name, rather than only have it as a parameter or mention it."""


@dataclass(frozen=True, slots=True)
class Targets:
    """What is picked."""

    definitions: list[Definition] = field(default_factory=list)
    sure: bool = True
    why: str = ""


class Resolver:
    """Looks names up in a file, each in the light of the others."""

    def __init__(self, vocabulary: Vocabulary, sentence: Sentence) -> None:
        self._vocabulary = vocabulary
        self._sentence = sentence
        self._several = _SEVERAL.search(sentence.text) is not None

    def targets(self, named: Sequence[Role]) -> Targets:
        """The smallest definitions that the names mark as the place to change."""
        found = [each for each in map(self.candidates, named) if each.definitions]
        if not found:
            return Targets()
        best = max(each.role.role for each in found)
        chosen = [each for each in found if each.role.role == best]
        sure = best > UNMARKED or len({each.role.name for each in found}) == 1
        if best == USED and any(each.is_definition for each in chosen):
            sure = False  # it is to be used somewhere, and that is not said
        picked: list[Definition] = []
        for each in chosen:
            definitions = self.narrowed(each, found)
            sure = sure and self.is_settled(each, found, definitions)
            picked += definitions
        picked = [self._constructor(each) for each in picked]
        picked, certain = self._smaller(picked, [each for each in found if each.role.role < best])
        names = " and ".join(dict.fromkeys(f"`{each.role.name}`" for each in chosen))
        picked = [each for each in picked if not any(other is not each and _holds(each, other) for other in picked)]
        return Targets(picked, sure and certain, f"the instruction names {names}")

    def candidates(self, role: Role) -> Candidates:
        """What one name may stand for, apart from the others."""
        before = self._sentence.text[: role.at]
        name = role.name
        parameters = list(self._vocabulary.parameters.get(name, ()))
        if parameters and re.search(
            r"\b(?:parameters?|params?|arguments?|args?|default(?:\s+value)?\s+(?:of|for))\s+(?:\S+\s+)?$", before
        ):
            return Candidates(role, parameters, False)
        definitions = self._of_kind(self._vocabulary.definitions_of(name), role)
        if definitions:
            return Candidates(role, definitions, True)
        return Candidates(role, parameters or self._holders(name), False)

    def narrowed(self, each: Candidates, found: Sequence[Candidates]) -> list[Definition]:
        """Its candidates that lie in, or are, what other names stand for; all where that leaves none."""
        definitions = each.definitions
        for inside in self._inside(each, found):
            both = [one for one in definitions if one in inside]
            definitions = both or definitions
        union = [one for one in each.definitions if any(one in inside for inside in self._inside(each, found))]
        if self._is_each_named(each, found, union):
            definitions = union
        return self._without_prototypes(definitions)

    def is_settled(self, each: Candidates, found: Sequence[Candidates], definitions: list[Definition]) -> bool:
        """Whether what is left of its candidates is one thing, or one for each place that is named."""
        distinct = [one for one in definitions if not self._vocabulary.is_prototype(one)]
        return len(distinct) <= 1 or self._several or self._is_each_named(each, found, definitions)

    def _inside(self, each: Candidates, found: Sequence[Candidates]) -> list[list[Definition]]:
        """For every other name what of the candidates lies in it."""
        others = [one for one in found if one.role.name != each.role.name and one.is_definition]
        lying = [
            [
                one
                for one in each.definitions
                if any(self._vocabulary.is_inside(one, outer) or one is outer for outer in other.definitions)
            ]
            for other in others
        ]
        return [inside for inside in lying if inside]

    def _is_each_named(self, each: Candidates, found: Sequence[Candidates], definitions: list[Definition]) -> bool:
        """Whether several places are named with one of these in each: "timeout in server and client"."""
        lying = self._inside(each, found)
        alone = [inside[0] for inside in lying if len(inside) == 1]
        return len(lying) > 1 and len(alone) == len(lying) and set(alone) == set(definitions)

    def _smaller(self, picked: list[Definition], lesser: Sequence[Candidates]) -> tuple[list[Definition], bool]:
        """Instead of a class or section, what is named within it."""
        sure = True
        for outer in list(picked):
            if outer.kind not in CONTAINERS:
                continue
            for each in lesser:
                inside = [one for one in each.definitions if self._vocabulary.is_inside(one, outer)]
                if not inside or each.role.role == USED or not (each.is_definition or each.role.role >= OBJECT):
                    continue
                if each.role.role < OBJECT:
                    sure = False  # it may be the place within, or only be mentioned
                    continue
                if outer in picked:
                    picked.remove(outer)
                picked += [one for one in inside if one not in picked]
                sure = sure and (len(inside) == 1 or self._several)
        return picked, sure

    def _constructor(self, each: Definition) -> Definition:
        """Of a class its constructor, where that is what the sentence is about."""
        if each.kind != "class" or not re.search(r"\b(?:constructor|initiali[sz]er)\b", self._sentence.text):
            return each
        inside = self._vocabulary.outline.children(each)
        return next((one for one in inside if one.name in ("__init__", "constructor")), each)

    def _of_kind(self, definitions: list[Definition], role: Role) -> list[Definition]:
        """Of several of one name those that the words around it mean."""
        around = self._sentence.text[max(0, role.at - 24) : role.at + 24].casefold()
        if len(definitions) < 2:
            return definitions
        types = [each for each in definitions if not self._vocabulary.is_impl(each)]
        if types and len(types) < len(definitions):
            impls = [each for each in definitions if each not in types]
            return impls if re.search(r"\bimpl\b", around) else types
        for word in ("getter", "setter"):
            if word in around:
                marked = [each for each in definitions if self._is_accessor(each, word)]
                return marked or definitions
        noun = re.search(rf"\b({KINDS})\b", around)
        kinds = {
            "class": "class",
            "struct": "class",
            "function": "function",
            "method": "function",
            "section": "heading",
        }
        wanted = kinds.get(noun[1].removesuffix("s")) if noun else None
        matching = [each for each in definitions if each.kind == wanted]
        return matching or definitions

    def _is_accessor(self, each: Definition, word: str) -> bool:
        text = "\n".join(self._vocabulary.lines[each.start : each.head + 1])
        is_setter = re.search(r"\.setter\b|\bset\s", text) is not None
        return is_setter == (word == "setter")

    def _without_prototypes(self, definitions: list[Definition]) -> list[Definition]:
        if re.search(r"\bprototypes?\b", self._sentence.text):
            return [each for each in definitions if self._vocabulary.is_prototype(each)] or definitions
        bodies = [each for each in definitions if not self._vocabulary.is_prototype(each)]
        if len(bodies) == len(definitions) or not bodies:
            return definitions
        return definitions if _SIGNATURE.search(self._sentence.text) else bodies

    def _holders(self, name: str) -> list[Definition]:
        """The innermost definitions that mention a name which the file does not define."""
        rows = self._vocabulary.mentions(name)
        if "." in name:
            rows = [row for row in rows if name in self._vocabulary.lines[row]] or rows
        holders = [holder for row in rows if (holder := self._vocabulary.innermost(row)) is not None]
        return list(dict.fromkeys(holders))


def _holds(outer: Definition, inner: Definition) -> bool:
    return (
        outer.start <= inner.start and inner.end <= outer.end and (outer.end - outer.start) > (inner.end - inner.start)
    )
