"""Finds the parts of a file that an instruction is about, so that no more than these can change. Pure.

Where it is not clear which part is meant, the answer says so (`Picked.sure`): a wrong part taken silently costs more
trust than a whole file asked for.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lacli.edits.find.insertions import Inserter
from lacli.edits.find.intent import Intent
from lacli.edits.find.items import impls, lists_of
from lacli.edits.find.marked import NAME
from lacli.edits.find.mentions import every_place, moved, renamed
from lacli.edits.find.parts import Part, Picked, disjoint, head_of, imports_of, part_of, parts_of_rows, whole
from lacli.edits.find.phrases import additions, renames
from lacli.edits.find.roles import OBJECT, roles
from lacli.edits.find.sentence import LONGEST, sentence_of
from lacli.edits.find.targets import Resolver
from lacli.edits.find.vocabulary import Vocabulary
from lacli.edits.tree.outline import Definition, Outline

__all__ = ["Part", "Picked", "find"]

_HEAD = re.compile(
    r"\b(?:(?:module|file|package|crate|script)(?:-level|-wide)?\s+(?:doc\s*strings?|doc\s+comments?|comments?|headers?|documentation)"
    r"|(?:licen[sc]e|copyright|spdx)\s+(?:headers?|comments?|notices?|lines?|identifiers?)|shebang|hashbang"
    r"|(?:doc\s*string|comment|header)\b.*\b(?:top|head|beginning|start)\s+of\s+(?:the|this)\s+(?:file|module|script|program)"
    r"|(?:doc\s*string|comment)\s+(?:to|for)\s+(?:the|this)\s+(?:file|module|script))",
    re.IGNORECASE,
)
_IMPORTS = re.compile(
    r"(?:\b(?:sort|order|reorder|group|tidy|clean\s+up|organi[sz]e|split|alphabeti[sz]e|dedupe|deduplicate|merge|remove|delete|drop|fix|add|move|wrap)\b"
    r"[^.;]*?\b(?:imports?|includes?|use\s+(?:statements?|declarations?))\b|(?:^|[.;,]\s*|\band\s+|\bplease\s+|\bthen\s+)(?:import|#?include)\s|\bunused\s+imports?\b)",
    re.IGNORECASE,
)

_ENTER = re.compile(
    r"(?:[,;]|\band\b|\bthen\b)\s+(?:also\s+|then\s+)?(?:add|append|put|enter|register|include|list|insert)\b[^.;]{0,40}"
    r"\b(?:to|in|into)\s+(?:the\s+|our\s+)?(?:\w+\s+)?$",
    re.IGNORECASE,
)
"""Stands before the name of a list that is to have what is new."""
_USE = re.compile(
    rf"\b(?:call|use|calling|using|invoke|invoking|run)\b[^.;]*?\b(?:in|from|by)\s+(?:(?P<all>both|all|each)\b|(?:the\s+)?{NAME})",
    re.IGNORECASE,
)
"""How an instruction names the places that are to use what is new."""


def find(text: str, outline: Outline | None, intent: Intent) -> Picked:
    """The smallest parts that an instruction can be about."""
    rows = text.split("\n")
    if outline is None:
        return whole(rows, "files of this kind have no outline")
    if not text.strip():
        return whole(rows, "it is empty")
    found = _Finder(Vocabulary(text, outline), intent).picked()
    return replace(found, sure=found.sure and len(intent.text) <= LONGEST)


class _Finder:
    """Follows the rules in turn, the most telling first."""

    def __init__(self, vocabulary: Vocabulary, intent: Intent) -> None:
        self._vocabulary = vocabulary
        self._intent = intent
        self._sentence = sentence_of(intent.text, vocabulary)
        self._resolver = Resolver(vocabulary, self._sentence)
        self._renames = renames(self._sentence)
        self._additions = additions(self._sentence)
        new = {each.new_at for each in self._renames}
        new |= {each.start for each in self._additions if each.name in intent.adds}
        self._roles = roles(self._sentence, frozenset(new))

    def picked(self) -> Picked:
        """The answer."""
        if _HEAD.search(self._intent.text) and not self._vocabulary.is_prose:
            return Picked((head_of(self._vocabulary),), why="the head of the file is named")
        if self._renames:
            found = renamed(self._vocabulary, self._resolver, self._renames, self._roles, self._intent.everywhere)
            return found or whole(self._vocabulary.lines, "it does not have the name that is to be changed")
        return (
            self._implementations()
            or moved(self._vocabulary, self._sentence, self._resolver, self._roles)
            or every_place(self._vocabulary, self._sentence, self._resolver, self._roles)
            or self._imports()
            or self._added()
            or self._named()
            or self._quoted()
            or self._unmarked()
            or whole(self._vocabulary.lines, "the instruction names nothing in it")
        )

    def _implementations(self) -> Picked | None:
        """The `impl` blocks of traits that are named as such: "the impl of From<u8> for Id"."""
        named = [each.definition for each in impls(self._intent.text, self._vocabulary)]
        found = [each for each in named if each is not None]
        # with a name within, or of a type beside them, the place may be another
        if not found or any(each.role > OBJECT for each in self._roles):
            return None
        names = " and ".join(f"`{each.label}`" for each in found)
        return Picked(disjoint([*map(part_of, found)]), why=f"the instruction names {names}")

    def _imports(self) -> Picked | None:
        if not _IMPORTS.search(self._sentence.text) or self._vocabulary.is_prose or self._vocabulary.is_data:
            return None
        imports = imports_of(self._vocabulary) or head_of(self._vocabulary)
        others = [each for each in self._roles if each.role >= OBJECT and self._vocabulary.definitions_of(each.name)]
        targets = self._resolver.targets(others)
        parts = disjoint([imports, *map(part_of, targets.definitions)])
        return Picked(parts, why="the imports are named", sure=targets.sure)

    def _added(self) -> Picked | None:
        inserter = Inserter(self._vocabulary, self._sentence, self._resolver)
        implementation = inserter.implementation()
        if implementation is not None:
            return implementation
        for addition in self._additions:
            if addition.kind or addition.name in self._intent.adds:
                found = self._of_that_kind(addition.kind) or inserter.picked(addition, self._roles)
                if found is not None:
                    return self._with_lists(found, addition.start)
        return None

    def _with_lists(self, found: Picked, at: int) -> Picked:
        """With what the new thing is to be entered in: "and add its name to __all__"."""
        text = self._sentence.text
        named = [each for each in self._roles if each.at > at and _ENTER.search(text[at : each.at])]
        lists = [self._vocabulary.definitions_of(each.name) for each in named]
        parts = [part_of(one[0]) for one in lists if len(one) == 1 and one[0] is not found.into]
        parts += [part for part in map(part_of, self._users(at)) if part not in parts]
        held = {row for part in found.parts for row in range(part.start, part.end)}
        beside = tuple(part for part in parts if not held.intersection(range(part.start, part.end)))
        return replace(found, beside=beside) if found.form == "insert" else found

    def _users(self, at: int) -> list[Definition]:
        """The functions that are to use what is new: "and call it in both", behind the place of its name."""
        text = self._sentence.text
        use = _USE.search(text, at)
        if use is None:
            return []
        first = 0 if use["all"] else use.end() - 1
        named = [each for each in self._roles if (each.at < use.start() if use["all"] else each.at >= first)]
        found = [self._vocabulary.definitions_of(each.name) for each in named]
        return [one[0] for one in found if len(one) == 1 and one[0].kind == "function"]

    def _of_that_kind(self, kind: str) -> Picked | None:
        """A list of such things in a file of keys: `dependencies` for a new dependency."""
        if not self._vocabulary.is_data or not kind.endswith("y"):
            return None
        lists = self._vocabulary.definitions_of(f"{kind[:-1]}ies")
        narrowed = [each for each in lists if any(role.name in each.label for role in self._roles)] or lists
        if not narrowed:
            return None
        return Picked(tuple(map(part_of, narrowed)), why=f"`{narrowed[0].label}` lists such", sure=len(narrowed) == 1)

    def _named(self) -> Picked | None:
        targets = self._resolver.targets(self._roles)
        if not targets.definitions:
            return self._imported_only()
        definitions = [*targets.definitions, *lists_of(self._intent.text, self._vocabulary)]
        parts = [part_of(each) for each in dict.fromkeys(definitions)]
        for each in targets.definitions:
            if self._is_removed(each):
                rows = [row for row in self._vocabulary.mentions(each.name) if not each.start <= row < each.end]
                parts += parts_of_rows(self._vocabulary, rows)
        return Picked(disjoint(parts), why=targets.why, sure=targets.sure)

    def _is_removed(self, each: Definition) -> bool:
        """Whether a definition of the whole file is to go, and so what uses it has to change too."""
        return (
            each.name in self._intent.removes
            and len(each.path) == 1
            and not (self._vocabulary.is_data or self._vocabulary.is_prose)
            and not re.search(r"\bsplit\b", self._intent.text)
        )

    def _imported_only(self) -> Picked | None:
        """A name that only the imports have."""
        imports = imports_of(self._vocabulary)
        if imports is None or not any(self._vocabulary.is_imported(each.name) for each in self._roles):
            return None
        return Picked((imports,), why="the imports have the name", sure=False)

    def _unmarked(self) -> Picked | None:
        """A definition whose name stands there as a mere word, where nothing else is named."""
        found = [each for name in sorted(self._intent.names) for each in self._vocabulary.definitions_of(name)]
        if len(found) != 1:
            return None
        return Picked((part_of(found[0]),), why=f"`{found[0].name}` is one of its words", sure=True)

    def _quoted(self) -> Picked | None:
        """Lines that have a quoted text."""
        for value in self._sentence.values:
            rows = [row for row, line in enumerate(self._vocabulary.lines) if len(value) > 1 and value in line]
            if rows:
                parts = parts_of_rows(self._vocabulary, rows)
                return Picked(parts, why=f"it has the text {value!r}", sure=len(parts) == 1)
        return None
