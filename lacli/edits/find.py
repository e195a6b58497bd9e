"""Finds the part of a file that an instruction is about: the smallest definitions that hold what it names. Pure.

A model that is asked for less loses less. Where the instruction does not tell, nothing is guessed: the whole file is
the part, and `Picked.sure` says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from lacli.edits.intent import Intent
from lacli.edits.outline import Definition, Outline
from lacli.edits.syntax import parsed, text_of, walk

PartKind = Literal["definition", "lines", "imports", "file"]

_ADDS = re.compile(r"^\W*(?:please\s+)?(?:add|append|insert|write|create|define|implement|introduce|give)\b", re.I)
_WORD = r"(?!(?:to|in|into|of|on|from|for|at|that|which)\b)[\w-]+"
_NEW_THING = re.compile(
    rf"\b(?:add|append|insert|write|create|define|implement|introduce|give)\b(?:\s+{_WORD}){{0,2}}?"
    rf"\s+(?:an?|another|the|one|two|new)?\s*(?:{_WORD}\s+){{0,3}}?"
    r"(functions?|methods?|class(?:es)?|structs?|enums?|traits?|constants?|sections?|keys?|tables?|tests?|fields?|"
    r"propert(?:y|ies)|variants?|entr(?:y|ies)|subsections?|getter|setter|macro|heading|helper|interface|variable|"
    r"dependenc(?:y|ies)|constructor|attribute|setting|option)\b",
    re.IGNORECASE,
)
_INTO = re.compile(r"\b(?:to|in|into|inside|on|within|of|under|for)\s+(?:the\s+)?(?:end of\s+)?(?:[\w-]+\s+)?$", re.I)
_BEHIND = re.compile(r"\b(?:after|below|behind|beneath|following|right after|next to)\s+(?:the\s+)?(?:\w+\s+)?$", re.I)
_IMPORTS = re.compile(
    r"\b(?:sort|order|group|clean up|tidy|organi[sz]e|remove|alphabeti[sz]e)\b[^.]*\bimports?\b", re.I
)
_IMPORT_NEW = re.compile(r"^\W*(?:add an import|import|add the import)\b", re.I)
_HEAD = re.compile(
    r"\b(?:module|file|top[- ]level|package)('s)?\s+(?:doc ?string|comment|header|licen[cs]e)|\bshebang\b|"
    r"at the top of the file",
    re.I,
)
_MOVE = re.compile(r"\bmove\b", re.I)
_CLASS_KINDS = ("class", "heading", "table")


@dataclass(frozen=True, slots=True)
class Part:
    """Whole lines of a file that are to be changed."""

    start: int
    """The first, from 0."""
    end: int
    """Behind the last."""
    label: str
    """What it is called: Class.method, or lines 3-9."""
    kind: PartKind


@dataclass(frozen=True, slots=True)
class Picked:
    """The parts an edit is about."""

    parts: tuple[Part, ...]
    """In the order of the file; none overlaps another."""
    form: Literal["rewrite", "insert"]
    into: Definition | None
    """What something new is added to; None is the file itself."""
    after: Definition | None
    """What it is to stand behind; None: at the end."""
    why: str
    """One line that says how they were found."""
    sure: bool
    """Whether the instruction leaves no doubt."""


def find(text: str, outline: Outline | None, intent: Intent) -> Picked:
    """The parts of a text that the instruction is about."""
    lines = text.removesuffix("\n").split("\n")
    if outline is None or not outline.definitions:
        return _whole(lines, "nothing tells which part is meant")
    finder = _Finder(text, lines, outline, intent)
    return finder.special() or finder.insertion() or finder.named() or _whole(lines, "the instruction names no part")


def _whole(lines: Sequence[str], why: str) -> Picked:
    return Picked((Part(0, len(lines), "", "file"),), "rewrite", None, None, why, False)


class _Finder:
    def __init__(self, text: str, lines: Sequence[str], outline: Outline, intent: Intent) -> None:
        self._text = text
        self._lines = lines
        self._outline = outline
        self._intent = intent
        self._named = [each for each in outline.definitions if self._is_named(each)]

    def special(self) -> Picked | None:
        """Imports, and the head of the file."""
        outline, words = self._outline, self._intent.text
        if outline.imports and (_IMPORTS.search(words) or (_IMPORT_NEW.search(words) and not self._named)):
            start, end = min(outline.imports)[0], max(end for _, end in outline.imports)
            part = Part(start, end, f"the imports (lines {start + 1}-{end})", "imports")
            return Picked((part,), "rewrite", None, None, "the instruction is about the imports", True)
        if _HEAD.search(words) and not [each for each in self._named if each.kind != "heading"]:
            first = min((each.start for each in outline.definitions), default=len(self._lines))
            first = min(first, *(start for start, _ in outline.imports), len(self._lines))
            end = max(first, 1)
            part = Part(0, end, f"lines 1-{end}", "lines")
            return Picked((part,), "rewrite", None, None, "the instruction is about the head of the file", True)
        return None

    def insertion(self) -> Picked | None:
        """Something new, and where it goes."""
        words = self._intent.text
        found = _NEW_THING.search(words)
        if found is None or not _ADDS.match(words) or self._intent.renames:
            return None
        thing = found[1].lower()
        if not self._intent.adds and thing.startswith(
            ("option", "setting", "attribute", "field", "propert", "variable")
        ):
            return None
        into = after = None
        for each in self._named:
            for place in re.finditer(
                rf"(?<![\w]){re.escape(each.name)}(?![\w])", words, re.I if each.kind == "heading" else 0
            ):
                before = words[: place.start()].rstrip("`\"'[ (") + " "
                if _BEHIND.search(before):
                    after = each
                elif (
                    _INTO.search(before)
                    and (each.kind in _CLASS_KINDS or each.kind == "key")
                    and place.start() > found.start(1)
                ):
                    into = each
        if into is not None and into.kind == "class":
            into = self._body_of(into)
        if after is not None and into is None:
            into = self._outline.definitions[after.parent] if after.parent is not None else None
        if (
            into is None
            and after is None
            and self._named
            and thing.startswith(("method", "field", "propert", "key", "variant", "entr", "constructor"))
        ):
            holders = [each for each in self._named if each.kind in _CLASS_KINDS]
            into = self._body_of(holders[0]) if len(holders) == 1 else None
            if into is None:
                return None
        if into is not None:
            part = Part(into.start, into.end, into.label, "definition")
            return Picked((part,), "insert", into, after, f"something new goes into {into.label}", True)
        at = after or self._outline.definitions[-1]
        part = Part(at.start, at.end, at.label, "definition")
        where = f"behind {after.label}" if after is not None else "at the end of the file"
        sure = bool(self._intent.adds) or after is not None
        return Picked((part,), "insert", None, after, f"something new goes {where}", sure)

    def named(self) -> Picked | None:
        """The smallest definitions that hold what is named."""
        intent = self._intent
        if intent.renames or intent.everywhere:
            mentioned = self._mentions()
            if mentioned is not None:
                return mentioned
        targets = self._targets()
        if not targets:
            return None
        if _MOVE.search(intent.text) and len(targets) > 1:
            start, end = min(each.start for each in targets), max(each.end for each in targets)
            part = Part(start, end, f"lines {start + 1}-{end}", "lines")
            return Picked((part,), "rewrite", None, None, "what is moved, and where it goes", True)
        twice = [each for each in targets if sum(each.name == other.name for other in targets) > 1]
        several = re.search(r"\b(?:both|all|every|each|two|methods|functions|classes)\b", intent.text, re.I)
        sure = not twice or bool(several)
        parts = tuple(Part(each.start, each.end, each.label, "definition") for each in _disjoint(targets))
        return Picked(parts, "rewrite", None, None, f"the instruction names {_listed(parts)}", sure)

    def _is_named(self, each: Definition) -> bool:
        names = self._intent.names
        if each.label in names:
            return True
        dotted = [name for name in names if "." in name and name.rpartition(".")[2] == each.name]
        if dotted:
            return any(each.label == name or each.label.endswith("." + name) for name in dotted)
        return each.name in names

    def _targets(self) -> list[Definition]:
        """Named definitions without those that hold other named ones; functions of which a parameter is named."""
        named = [each for each in self._named if each.kind != "import"]
        owners = [each for each in named if each.kind in (*_CLASS_KINDS, "function")]
        for name in self._intent.names:
            if any(each.name == name for each in named):
                continue
            having = [each for each in self._outline.definitions if each.kind == "function" and name in each.parameters]
            within = [each for each in having if any(self._holds(owner, each) for owner in owners)]
            if within and not any(owner.kind == "function" for owner in owners):
                named += within
            elif not owners and len(having) == 1:
                named += having
        named = self._of_named_owners(list(dict.fromkeys(named)), owners)
        # what a name stands in is named to say which one is meant
        small = [each for each in named if not any(other is not each and self._holds(each, other) for other in named)]
        small = [each for each in small if not self._is_value(each, small)]
        return self._preferred(small)

    def _of_named_owners(self, named: list[Definition], owners: Sequence[Definition]) -> list[Definition]:
        """Of definitions that share a name, those alone that stand in something named, where there are such."""
        kept = []
        for each in named:
            same = [other for other in named if other.name == each.name]
            held = [one for one in same if any(owner not in same and self._holds(owner, one) for owner in owners)]
            if not held or each in held:
                kept.append(each)
        return kept

    def _holds(self, outer: Definition, inner: Definition) -> bool:
        if outer is inner:
            return True
        if outer.kind == "class" and len(inner.path) > 1 and inner.path[-2] == outer.name:  # Go's methods, Rust's impls
            return True
        return outer.start <= inner.start and inner.end <= outer.end and inner.path[: len(outer.path)] == outer.path

    def _is_value(self, each: Definition, others: Sequence[Definition]) -> bool:
        """Whether a variable is named only for what a function is to do with it."""
        if each.kind != "variable" or not any(other.kind == "function" for other in others):
            return False
        return not re.search(
            rf"\b(?:change|set|rename|remove|delete|increase|raise|lower|move|make)\s+(?:the\s+)?(?:\w+\s+)?[`\"']?{re.escape(each.name)}\b",
            self._intent.text,
        )

    def _preferred(self, found: list[Definition]) -> list[Definition]:
        """Without C's prototypes where the function itself is there, and Rust's type where its impl is meant."""
        full = {each.path for each in found if each.end - each.signature_end > 0}
        if self._outline.language in ("c", "cpp"):
            found = [each for each in found if each.path not in full or each.end - each.signature_end > 0]
        return found

    def _body_of(self, into: Definition) -> Definition:
        """Of a Rust type its own impl, where methods go."""
        if self._outline.language != "rust" or not re.search(
            r"\bmethods?\b|\bfunctions?\b|\bconstructors?\b", self._intent.text
        ):
            return into
        same = [
            each
            for each in self._outline.definitions
            if each.name == into.name and self._lines[each.head].lstrip().startswith("impl")
        ]
        return same[0] if same else into

    def _mentions(self) -> Picked | None:
        """Every place that mentions a name: definitions as small as they go, and lines outside of any."""
        intent = self._intent
        names = {old for old, _ in intent.renames} or {name.rpartition(".")[2] for name in intent.names}
        defined = [each for each in self._outline.definitions if each.name in names]
        if not names or (not defined and not intent.renames):
            return None
        scopes = [each for each in self._named if each.kind in ("function", "class") and each.name not in names]
        if not defined:  # a parameter or a local
            own = [
                each for each in self._outline.definitions if each.kind == "function" and names & set(each.parameters)
            ]
            inside = (
                scopes
                or own
                or [
                    each
                    for each in self._outline.definitions
                    if each.kind == "function"
                    and self._uses(each, names)
                    and not any(
                        each.parent is not None and self._outline.definitions[each.parent].kind == "function"
                        for _ in (0,)
                    )
                ]
            )
            small = [
                each
                for each in inside
                if not any(o is not each and each.start <= o.start and o.end <= each.end for o in inside)
            ]
            if not small:
                return None
            parts = tuple(Part(each.start, each.end, each.label, "definition") for each in _disjoint(small))
            return Picked(
                parts, "rewrite", None, None, f"{_listed(parts)} has this name", len(small) == 1 or bool(scopes)
            )
        rows = sorted(self._rows_of(names, in_words=bool(intent.renames)))
        if not rows:
            return None
        parts = tuple(_parts_of(self._outline, rows))
        return Picked(parts, "rewrite", None, None, f"{_listed(parts)} mention {' and '.join(sorted(names))}", True)

    def _uses(self, each: Definition, names: set[str]) -> bool:
        pattern = "|".join(map(re.escape, names))
        return any(re.search(rf"(?<!\w)(?:{pattern})(?!\w)", line) for line in self._lines[each.start : each.end])

    def _rows_of(self, names: set[str], in_words: bool) -> set[int]:
        tree = parsed(self._text, self._outline.language)
        found: set[int] = set()
        if tree is None:
            return found
        pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names))
        for node in walk(tree.root_node):
            if node.child_count:
                continue
            words = "comment" in node.type or "string" in node.type or node.type in ("inline", "html_block")
            if text_of(node) in names or (in_words and words and pattern.search(text_of(node))):
                first = node.start_point[0]
                found.update(
                    first + at for at, line in enumerate(text_of(node).split("\n")) if not words or pattern.search(line)
                )
        return found


def _parts_of(outline: Outline, rows: Iterable[int]) -> list[Part]:
    """The smallest definitions around these lines, and lines that stand in none."""
    found: dict[tuple[int, int], Part] = {}
    for row in rows:
        around = [each for each in outline.definitions if each.start <= row < each.end]
        owners = [each for each in around if each.parent is None or outline.definitions[each.parent].kind != "function"]
        owner = min(owners, key=lambda each: each.end - each.start, default=None)
        if owner is not None and owner.kind == "class" and owner.end - owner.start > 1:
            end = owner.signature_end if row < owner.signature_end else row + 1
            start = owner.start if row < owner.signature_end else row
            found.setdefault((start, end), Part(start, end, f"lines {start + 1}-{end}", "lines"))
        elif owner is not None:
            found.setdefault((owner.start, owner.end), Part(owner.start, owner.end, owner.label, "definition"))
        else:
            found.setdefault((row, row + 1), Part(row, row + 1, f"line {row + 1}", "lines"))
    parts: list[Part] = []
    for part in sorted(found.values(), key=lambda each: (each.start, -each.end)):
        if parts and part.start < parts[-1].end:
            continue
        if parts and part.kind == "lines" and parts[-1].kind == "lines" and part.start == parts[-1].end:
            last = parts.pop()
            part = Part(last.start, part.end, f"lines {last.start + 1}-{part.end}", "lines")
        parts.append(part)
    return parts


def _disjoint(found: Iterable[Definition]) -> list[Definition]:
    kept: list[Definition] = []
    for each in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def _listed(parts: Sequence[Part]) -> str:
    labels = [part.label for part in parts]
    return ", ".join(labels) if len(labels) <= 4 else f"{', '.join(labels[:3])} and {len(labels) - 3} more places"
