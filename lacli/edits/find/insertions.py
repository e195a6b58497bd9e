"""Where something new goes: into which definition, behind which sibling. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lacli.edits.find.marked import KINDS, NAME, VALUE
from lacli.edits.find.parts import CONTAINERS, Picked, disjoint, head_of, imports_of, part_of
from lacli.edits.find.phrases import Addition
from lacli.edits.find.roles import OBJECT, Role
from lacli.edits.find.sentence import Sentence
from lacli.edits.find.targets import Resolver
from lacli.edits.find.vocabulary import Vocabulary
from lacli.edits.tree.outline import Definition

_MEMBERS = ("method", "constructor", "getter", "setter", "property")
_TOP = (
    "function",
    "class",
    "helper",
    "struct",
    "enum",
    "trait",
    "interface",
    "macro",
    "type alias",
    "test",
    "test case",
    "fixture",
    "generator",
    "coroutine",
)
_VALUES = ("constant", "const", "variable", "global", "define")
_SECTIONS = ("section", "heading", "chapter", "subsection", "table")
_ENTRIES = ("key", "setting", "option", "entry", "field", "property", "flag", "dependency")
_GROUPS = {
    "dependency group": ("optional-dependencies", "dependency-groups", "extras"),
    "extra": ("optional-dependencies", "extras"),
}
"""What lists such things in files of keys."""
_BESIDE = re.compile(
    rf"\b(after|below|behind|following|beneath|next\s+to|beside|before|above|in\s+front\s+of)\s+(?:the\s+)?(?:{KINDS}\s+)?$",
    re.IGNORECASE,
)
_TRAIT_FOR = re.compile(
    rf"\b(?:implement|(?:add|write|provide)\s+(?:an?\s+|the\s+)?impl(?:ementation)?(?:\s+of)?)\s+(?:the\s+)?(?:{NAME}|{VALUE}|[\w:<>]+)"
    rf"(?:\s+trait|\s+impl(?:ementation)?)?\s+for\s+(?:the\s+)?(?:{KINDS}\s+)?(?P<type>{NAME})",
    re.IGNORECASE,
)
_DETAILS = re.compile(
    r"\b(?:that|which|returning|whose|so\s+that|where|taking|explaining|describing|saying|containing|to\s+(?!the\b|class\b)[a-z]+)\b",
    re.IGNORECASE,
)


class Inserter:
    """Places one addition in a file."""

    def __init__(self, vocabulary: Vocabulary, sentence: Sentence, resolver: Resolver) -> None:
        self._vocabulary = vocabulary
        self._sentence = sentence
        self._resolver = resolver

    def picked(self, addition: Addition, named: Sequence[Role]) -> Picked | None:
        """Where it goes; None where what is asked for is a change of something that there is."""
        if not self._is_definition(addition.kind):
            return None
        sibling, before = self._sibling(named)
        others = [
            each for each in self._relevant(named, addition) if each.name not in (sibling.name if sibling else (),)
        ]
        container, sure = self._container(addition, others, sibling)
        if sibling is not None:
            return self._beside(sibling, before, container)
        if container is None and addition.kind in _GROUPS:
            container, sure = self._of_groups(addition.kind)
        if container is not None:
            return self._inside(addition, container, sure)
        if addition.kind in _MEMBERS or not addition.kind:
            return None
        used_in = [each for each in others if self._is_place_of_use(each)]
        if used_in and not addition.kind.startswith("test"):
            return self._used(addition, used_in)
        return self._at_top(addition)

    def _is_definition(self, kind: str) -> bool:
        if self._vocabulary.is_prose:
            return kind in _SECTIONS and kind != "table"
        if self._vocabulary.is_data:
            return kind in (*_SECTIONS, *_ENTRIES, *_GROUPS, "")
        return kind in (*_MEMBERS, *_TOP, *_VALUES, "")

    def _relevant(self, named: Sequence[Role], addition: Addition) -> list[Role]:
        """The names that say where, rather than what the new thing does."""
        details = _DETAILS.search(self._sentence.text, addition.start)
        end = details.start() if details else len(self._sentence.text)
        return [each for each in named if each.at < end and each.role >= OBJECT]

    def _sibling(self, named: Sequence[Role]) -> tuple[Definition | None, bool]:
        for each in named:
            beside = _BESIDE.search(self._sentence.text[: each.at])
            candidates = self._resolver.candidates(each)
            definitions = self._resolver.narrowed(candidates, [])
            if beside and len(definitions) == 1:
                return definitions[0], beside[1].casefold() in ("before", "above") or beside[1].startswith("in")
        return None, False

    def _container(
        self, addition: Addition, named: Sequence[Role], sibling: Definition | None
    ) -> tuple[Definition | None, bool]:
        """What it is to stand in, and whether that is sure."""
        kinds = ("heading",) if self._vocabulary.is_prose else ("class", "table", "key")
        for each in named:
            if re.search(r"\bfor\s+(?:\S+\s+)?$", self._sentence.text[: each.at]) and addition.kind in _TOP:
                continue  # "a test for X"
            if self._vocabulary.is_prose and not re.search(
                r"\b(?:in|inside|under|within|into|of|to)\s+(?:\S+\s+)?(?:\S+\s+)?$", self._sentence.text[: each.at]
            ):
                continue
            definitions = [one for one in self._resolver.candidates(each).definitions if one.kind in kinds]
            if definitions and definitions[0].label != addition.name:
                return self._block(definitions[0]), len(definitions) == 1
        if addition.kind in (*_MEMBERS, "test", "test case") and sibling is None:
            classes = [each for each in self._vocabulary.outline.definitions if self._takes_methods(each)]
            if addition.kind not in _MEMBERS:
                classes = [each for each in classes if each.name.casefold().startswith("test")]
            if len({each.name for each in classes}) == 1:
                return self._block(classes[0]), True
        return None, True

    def _of_groups(self, kind: str) -> tuple[Definition | None, bool]:
        """The table of such groups."""
        tables = [each for each in self._vocabulary.outline.definitions if each.kind in ("table", "key")]
        found = [each for each in tables if each.name.rsplit(".", 1)[-1] in _GROUPS[kind]]
        if kind == "dependency group" and re.search(r"\boptional\b", self._sentence.text, re.IGNORECASE):
            found = [each for each in found if each.name.endswith("optional-dependencies")] or found
        return (found[0], len(found) == 1) if found else (None, True)

    def _takes_methods(self, each: Definition) -> bool:
        return each.kind == "class" and any(one.kind == "function" for one in self._members(each))

    def _block(self, container: Definition) -> Definition:
        """Of a Rust type its own `impl` block, as that is where methods stand."""
        if not self._has_own_block(container):
            return container
        blocks = [
            each
            for each in self._vocabulary.outline.definitions
            if self._vocabulary.is_impl(each) and re.fullmatch(rf"{re.escape(container.name)}(?:<.*>)?", each.name)
        ]
        return blocks[0] if blocks else container

    def _has_own_block(self, container: Definition) -> bool:
        """Whether the methods of a type stand apart from it, in `impl` blocks of Rust."""
        head = self._vocabulary.lines[container.head]
        return self._vocabulary.outline.language == "rust" and re.search(r"\b(?:struct|enum|union)\b", head) is not None

    def _members(self, container: Definition) -> list[Definition]:
        """What stands in it, or belongs to it from elsewhere in the file (Go)."""
        inside = self._vocabulary.outline.children(container)
        if self._vocabulary.outline.language == "go":
            inside += [
                each
                for each in self._vocabulary.outline.definitions
                if each.parent is None and each.path[:-1] == container.path
            ]
        return inside

    def _beside(self, sibling: Definition, before: bool, container: Definition | None) -> Picked:
        into = (
            self._parent(sibling)
            if container is None or not self._vocabulary.is_inside(sibling, container)
            else container
        )
        why = f"something new {'before' if before else 'behind'} `{sibling.label}`"
        if not before:
            parts = (part_of(into),) if into is not None else ()
            return Picked(parts, "insert", into, sibling, why)
        previous = [
            each
            for each in self._vocabulary.outline.definitions
            if each.parent == sibling.parent and each.end <= sibling.start
        ]
        if previous:
            parts = (part_of(into),) if into is not None else ()
            return Picked(parts, "insert", into, previous[-1], why)
        return Picked((part_of(sibling),), why=why)

    def _parent(self, each: Definition) -> Definition | None:
        return self._vocabulary.outline.definitions[each.parent] if each.parent is not None else None

    def _inside(self, addition: Addition, container: Definition, sure: bool) -> Picked | None:
        members = self._members(container)
        why = f"something new goes into `{container.label}`"
        language = self._vocabulary.outline.language
        if language in ("json", "yaml") or (addition.kind in _VALUES and not members) or container.kind == "key":
            return Picked((part_of(container),), why=why, sure=sure)
        if self._has_own_block(container):
            return Picked((), "insert", None, container, why, sure)  # an `impl` block of its own
        wanted = [each for each in members if each.kind == ("variable" if addition.kind in _VALUES else "function")]
        after = _last(wanted or members)
        if language == "go":
            return Picked((part_of(container),), "insert", None, after if wanted else container, why, sure)
        if self._vocabulary.is_prose:
            after = _last(members)
        return Picked((part_of(container),), "insert", container, after, why, sure)

    def _is_place_of_use(self, each: Role) -> bool:
        definitions = self._resolver.candidates(each)
        return definitions.is_definition and any(one.kind == "function" for one in definitions.definitions)

    def _used(self, addition: Addition, named: Sequence[Role]) -> Picked | None:
        """A helper that is to be used somewhere at once is written with that place, a constant with the others."""
        targets = self._resolver.targets(named)
        if len(targets.definitions) != 1:
            return None
        at = targets.definitions[0]
        why = f"something new for `{at.label}`"
        if addition.kind in _VALUES:
            place = self._at_top(addition)
            first = place.parts or ((part_of(place.after),) if place.after else ())
            return Picked(disjoint([*first, part_of(at)]), why=why, sure=targets.sure)
        return Picked((part_of(at),), why=why, sure=targets.sure and at.parent is None)

    def implementation(self) -> Picked | None:
        """Where the implementation of a trait for a type goes (Rust): behind what the type has."""
        match = _TRAIT_FOR.search(self._sentence.text)
        if self._vocabulary.outline.language != "rust" or not match:
            return None
        own = self._vocabulary.definitions_of(self._sentence.named(match["type"]))
        why = f"a new implementation for `{own[-1].label}`" if own else ""
        return Picked((), "insert", None, own[-1], why) if own and own[-1].kind == "class" else None

    def _at_top(self, addition: Addition) -> Picked:
        top = [each for each in self._vocabulary.outline.definitions if each.parent is None]
        why = f"a new {addition.kind} of the file"
        if self._vocabulary.is_prose:
            inner = [each for each in self._vocabulary.outline.definitions if each.parent == 0] if len(top) == 1 else []
            return Picked((), "insert", None, _last(inner or top), why)
        if self._vocabulary.is_data and addition.kind in _ENTRIES:
            keys = [each for each in top if each.kind == "key"]
            if self._vocabulary.outline.language == "toml" and keys:
                return Picked((), "insert", None, keys[-1], why, sure=all(each.kind == "key" for each in top))
            return Picked((head_of(self._vocabulary),), why=why, sure=False)
        if addition.kind in _VALUES:
            return self._value(top, why)
        blocks = [each for each in top if each.kind in (*CONTAINERS, "function")]
        is_test = addition.kind.startswith("test")
        sure = not is_test or any(each.name.casefold().startswith("test") for each in top)
        return Picked((), "insert", None, _last(blocks or top), why, sure)

    def _value(self, top: Sequence[Definition], why: str) -> Picked:
        """Behind the constants at the head of the file; where there are none, with its imports."""
        first = next((each.start for each in top if each.kind in ("function", "class")), len(self._vocabulary.lines))
        values = [each for each in top if each.kind == "variable" and each.end <= first]
        if values:
            return Picked((), "insert", None, values[-1], why)
        return Picked((imports_of(self._vocabulary) or head_of(self._vocabulary),), why=why)


def _last(definitions: Sequence[Definition]) -> Definition | None:
    return definitions[-1] if definitions else None
