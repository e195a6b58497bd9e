"""Changes of many places at once: renames, moves, and what is asked for everywhere. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lacli.edits.find.marked import KINDS, NAME
from lacli.edits.find.parts import Part, Picked, disjoint, lines, part_of, parts_of_rows
from lacli.edits.find.phrases import Rename
from lacli.edits.find.roles import OBJECT, PLACE, Role
from lacli.edits.find.sentence import Sentence
from lacli.edits.find.targets import Candidates, Resolver
from lacli.edits.find.vocabulary import Vocabulary
from lacli.edits.tree.outline import Definition

_ALL_OF_KIND = re.compile(
    r"\b(?:all|every|each)\s+(?:of\s+)?(?:the\s+|its\s+)?(?:(?P<which>public|private|exported)\s+)?(?:async\s+|other\s+|existing\s+)?"
    rf"(?P<kind>functions?|methods?|class(?:es)?|structs?|tests?)\b(?:\s+(?:in|of|on)\s+(?:the\s+)?(?:{KINDS}\s+)?(?P<of>{NAME}))?",
    re.IGNORECASE,
)
_ALL_USES = re.compile(
    r"\b(?:(?:all|every|each|any|both)\s+(?:of\s+)?(?:the\s+|its\s+)?(?:(?:other|remaining|direct)\s+)?(?P<noun>calls?|uses?|usages?|occurrences?|references?|places?"
    r"|callers?|call\s+sites?|mentions?|instances?)?\s*(?:of\s+|to\s+|where\s+|that\s+(?:calls?|uses?)\s+)?(?:the\s+)?"
    rf"(?:{KINDS}\s+)?(?P<name>{NAME})(?P<after>\s+calls?|\s+uses?)?|(?P<first>{NAME})[^.;]*\b(?P<where>everywhere|throughout)\b"
    rf"|\b(?:everywhere|wherever)\s+(?:\w+\s+)?(?P<last>{NAME})(?P<called>\s+is\s+(?:called|used))?)",
    re.IGNORECASE,
)
_MOVE = re.compile(
    rf"\b(?:move|put|place)\s+(?:the\s+)?(?:{KINDS}\s+)?(?P<what>{NAME})(?:\s+{KINDS})?\s+(?:up\s+|down\s+|right\s+|directly\s+)*"
    rf"(?:(?P<how>above|below|before|after|behind|under|beneath|in\s+front\s+of|into|to|inside)\s+(?:the\s+)?(?:{KINDS}\s+)?(?P<where>{NAME})"
    r"|(?:to|at)\s+the\s+(?:very\s+)?(?P<edge>top|start|beginning|end|bottom))",
    re.IGNORECASE,
)
_SWAP = re.compile(
    rf"\bswap\s+(?:the\s+)?(?:order\s+of\s+|positions?\s+of\s+|{KINDS}\s+)*(?P<what>{NAME})\s+(?:and|with)\s+(?P<where>{NAME})",
    re.IGNORECASE,
)


# --- renames ---------------------------------------------------------------------------------------------------------


def renamed(
    vocabulary: Vocabulary, resolver: Resolver, wanted: Sequence[Rename], named: Sequence[Role], everywhere: bool
) -> Picked | None:
    """Every part that has an old name; None where the file has none of them."""
    parts: list[Part] = []
    sure = True
    old_names = {each.old for each in wanted}
    for each in wanted:
        at = next((role.at for role in named if role.name == each.old), each.new_at)
        role = Role(each.old, at, PLACE)
        others = [
            one for one in map(resolver.candidates, named) if one.role.name not in old_names and one.is_definition
        ]
        found, certain = _places_of(vocabulary, resolver, role, others, everywhere)
        parts += found
        sure = sure and certain and bool(found)
    names = " and ".join(f"`{each.old}`" for each in wanted)
    return Picked(disjoint(parts), why=f"these have the name {names}", sure=sure) if parts else None


def _places_of(
    vocabulary: Vocabulary, resolver: Resolver, role: Role, others: list[Candidates], everywhere: bool
) -> tuple[list[Part], bool]:
    candidates = resolver.candidates(role)
    narrowed = resolver.narrowed(candidates, [candidates, *others])
    if not candidates.is_definition:
        return _of_local(vocabulary, role.name, candidates, narrowed, everywhere)
    all_of_name = vocabulary.definitions_of(role.name.rsplit(".", 1)[-1])
    if any(each.kind == "heading" for each in narrowed):
        return [_heading(each) for each in narrowed] + _links(vocabulary, narrowed), len(narrowed) == 1
    rest = [each for each in all_of_name if each not in narrowed and each not in candidates.definitions]
    rest += [each for each in candidates.definitions if each not in narrowed and not vocabulary.is_prototype(each)]
    rest = [each for each in rest if not vocabulary.is_impl(each)]
    if vocabulary.is_data:
        sure = everywhere or resolver.is_settled(candidates, [candidates, *others], narrowed)
        return [part for each in narrowed for part in parts_of_rows(vocabulary, [each.head])], sure
    homes = [home for each in rest if (home := _home(vocabulary, each)) is not None]
    is_global = all(len(each.path) == 1 for each in narrowed)
    shadows = [each for each in vocabulary.parameters.get(role.name, ()) if is_global and each not in narrowed]
    rows = [
        row
        for row in vocabulary.mentions(role.name, prose=True)
        if not any(each.start <= row < each.end for each in (*rest, *shadows))
        and not any(
            home.start <= row < home.end for home in homes if home not in map(lambda e: _home(vocabulary, e), narrowed)
        )
    ]
    found = list(parts_of_rows(vocabulary, rows))
    distinct = {each.label for each in narrowed}
    outside = [
        part for part in found if not any(each.start <= part.start and part.end <= each.end for each in narrowed)
    ]
    return found, (len(distinct) == 1 or everywhere) and not (rest and outside)


def _of_local(
    vocabulary: Vocabulary, name: str, candidates: Candidates, narrowed: list[Definition], everywhere: bool
) -> tuple[list[Part], bool]:
    """A parameter or variable belongs to its function; an attribute to whatever mentions it."""
    last = name.rsplit(".", 1)[-1]
    rows = vocabulary.mentions(last)
    is_attribute = any(re.search(rf"(?:\.|->){re.escape(last)}\b", vocabulary.lines[row]) for row in rows)
    if is_attribute and candidates.definitions != vocabulary.parameters.get(last):
        return list(parts_of_rows(vocabulary, rows)), True
    parts = list(map(part_of, narrowed))
    for function in narrowed:  # by keyword from elsewhere
        call = re.compile(rf"\b{re.escape(function.name)}\(.*\b{re.escape(last)}\s*=[^=]")
        parts += parts_of_rows(vocabulary, [row for row in rows if call.search(vocabulary.lines[row])])
    return parts, len(narrowed) == 1 or everywhere


def _home(vocabulary: Vocabulary, each: Definition) -> Definition | None:
    return vocabulary.outline.definitions[each.parent] if each.parent is not None else None


def _heading(each: Definition) -> Part:
    return Part(each.head, each.signature_end, each.label, "lines")


def _links(vocabulary: Vocabulary, sections: Sequence[Definition]) -> list[Part]:
    """The lines of a Markdown file that link to headings."""
    slugs = [re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", each.name.casefold()).strip()) for each in sections]
    return [
        lines(row, row + 1) for row, line in enumerate(vocabulary.lines) if any(f"](#{slug})" in line for slug in slugs)
    ]


# --- everywhere ------------------------------------------------------------------------------------------------------


def every_place(vocabulary: Vocabulary, sentence: Sentence, resolver: Resolver, named: Sequence[Role]) -> Picked | None:
    """What is asked of every definition of a kind, or of every place that mentions a name."""
    found = _ALL_OF_KIND.search(sentence.text)
    if found:
        return _of_kind(vocabulary, sentence, resolver, found, named)
    uses = _ALL_USES.search(sentence.text)
    if not uses:
        return None
    name = sentence.named(uses["name"] or uses["first"] or uses["last"])
    is_use = bool(uses["noun"] or uses["after"] or uses["called"])
    definitions = vocabulary.definitions_of(name)
    if uses["name"] and not is_use and definitions:
        return None  # "all of Stack" is Stack, "both load methods" are these two
    heads = {each.head for each in definitions} if is_use else set()
    rows = [row for row in vocabulary.mentions(name) if row not in heads]
    if "." in name:
        rows = [row for row in rows if name in vocabulary.lines[row]] or rows
    places = [
        each
        for role in named
        if role.role == PLACE and role.name != name
        for each in resolver.candidates(role).definitions
    ]
    if places:
        rows = [row for row in rows if any(each.start <= row < each.end for each in places)]
    parts = parts_of_rows(vocabulary, rows)
    return Picked(parts, why=f"these mention `{name}`") if parts else None


def _of_kind(
    vocabulary: Vocabulary, sentence: Sentence, resolver: Resolver, match: re.Match[str], named: Sequence[Role]
) -> Picked | None:
    kind = match["kind"].casefold()
    of = sentence.named(match["of"]) if match["of"] else next((each.name for each in named if each.role >= OBJECT), "")
    owners = [each for each in vocabulary.definitions_of(of) if each.kind == "class"] if of else []
    if of and not owners:
        return None
    chosen = []
    for each in vocabulary.outline.definitions:
        parent = _home(vocabulary, each)
        if owners and not any(vocabulary.is_inside(each, owner) for owner in owners):
            continue
        if kind.startswith(("class", "struct")):
            fits = each.kind == "class" and not vocabulary.is_impl(each)
        else:
            fits = each.kind == "function" and (parent is None or parent.kind != "function")
            fits = fits and not (kind.startswith("method") and len(each.path) == 1)
            fits = fits and not (kind.startswith("test") and not each.name.casefold().startswith("test"))
        hidden = each.name.startswith(("_", "#")) and not each.name.endswith("__")
        if fits and not (match["which"] == "public" and hidden) and not (match["which"] == "private" and not hidden):
            chosen.append(each)
    return Picked(disjoint(map(part_of, chosen)), why=f"every one of the {kind} is meant") if chosen else None


# --- moves -----------------------------------------------------------------------------------------------------------


def moved(vocabulary: Vocabulary, sentence: Sentence, resolver: Resolver, named: Sequence[Role]) -> Picked | None:
    """What is moved and where it goes; all between where nothing else stands there."""
    match = _MOVE.search(sentence.text) or _SWAP.search(sentence.text)
    if not match:
        return None
    what = _one(resolver, named, match.start("what"))
    groups = match.groupdict()
    top = [each for each in vocabulary.outline.definitions if what is not None and each.parent == what.parent]
    if groups.get("edge"):
        where = top[0 if groups["edge"] in ("top", "start", "beginning") else -1] if top else None
    else:
        where = _one(resolver, named, match.start("where"))
    if what is None or where is None or what is where:
        return None
    why = f"`{what.label}` moves to `{where.label}`"
    first, last = sorted((what, where), key=lambda each: each.start)
    between = [each for each in top if first.end <= each.start and each.end <= last.start]
    if not between and first.parent == last.parent:
        return Picked((Part(first.start, last.end, f"{first.label} and {last.label}", "lines"),), why=why)
    return Picked(disjoint([part_of(first), part_of(last)]), why=why)


def _one(resolver: Resolver, named: Sequence[Role], at: int) -> Definition | None:
    """What the name at a place of the sentence stands for, if that is one thing."""
    role = next((each for each in named if each.at == at), None)
    if role is None:
        return None
    candidates = resolver.candidates(role)
    found = resolver.narrowed(candidates, list(map(resolver.candidates, named)))
    return found[0] if len(found) == 1 else None
