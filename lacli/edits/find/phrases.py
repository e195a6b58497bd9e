"""What the phrases of an instruction ask: renames, removals and additions, over a sentence whose names are marks.

Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lacli.edits.find.marked import KINDS, NAME, VALUE
from lacli.edits.find.sentence import Sentence

_WORD = rf"(?:{NAME}|{VALUE}|[A-Za-z_#][\w-]*)"
_MARK = rf"(?:{NAME}|{VALUE})"
_KIND = rf"(?:(?:local|instance|global|class|module|static|private|public|helper)\s+)?{KINDS}"
_WHERE = (
    rf"(?:\s+(?:everywhere|throughout|in|of|from|on|inside)(?:\s+(?:the\s+)?(?:{_KIND}\s+)?{NAME}(?:\s+{KINDS})?)?)*"
)
_NEGATED = re.compile(r"(?:\b(?:not|never|without|instead of|rather than)|n['’]t)\s+(?:\w+\s+)?$", re.IGNORECASE)
_ARTICLES = (
    r"(?:(?:the|this|that|its|all|every|any|each|both|old|unused|dead|obsolete|deprecated|useless|redundant|whole|entire|unneeded|private"
    r"|uses?|usages?|occurrences?|calls?|of)\s+)*"
)


@dataclass(frozen=True, slots=True)
class Addition:
    """Something new that an instruction asks for."""

    kind: str
    """The noun of it, in the singular: method, section, key …; empty where the instruction names none."""
    name: str
    start: int
    """Where in the sentence the name stands, or the phrase ends."""


# --- renames ---------------------------------------------------------------------------------------------------------

_OBJECT = rf"{_ARTICLES}(?:{_KIND}\s+|[a-z]+\s+)?(?P<{{0}}>{_WORD})(?:\s+{KINDS}\b)?(?:'s)?{_WHERE}"
_NO_NAME = r"(?!(?:everywhere|throughout|across|instead|wherever|in|and|too|as)\b)"
_NEW = rf"(?:the\s+)?(?:{_KIND}\s+)?(?P<{{0}}>{_NO_NAME}{_WORD})"


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(template.replace("OLD", _OBJECT.format("old")).replace("NEW", _NEW.format("new")), re.IGNORECASE)


_RENAMES = tuple(
    _pattern(each)
    for each in (
        r"\brenam(?:e|ing)\s+OLD\s*(?:\s(?:to|into|as)\s|->|→|=>)\s*NEW",
        r"\bcall\s+OLD\s+NEW\s+instead\b",
        r"\bname\s+OLD\s+NEW\s+instead\b",
        r"(?<!\w)OLD\s+(?:should|must|ought to|needs to)\s+(?:rather\s+)?be\s+(?:called|named|renamed to)\s+NEW",
        r"\b(?:change|switch)\s+the\s+name\s+of\s+OLD\s+(?:from\s+\S+\s+)?to\s+NEW",
        rf"\b(?:change|switch)\s+(?:the\s+)?(?P<old>{NAME})['’]s\s+name\s+to\s+NEW",
        r"\bgive\s+OLD\s+the\s+name\s+NEW",
        r"(?<!\w)OLD\s+is\s+(?:now|to be)\s+(?:called|named)\s+NEW",
        rf"\brenam(?:e|ing)\s+{_ARTICLES}(?:{_KIND}\s+)?from\s+(?P<old>{_WORD})\s+to\s+NEW",
        rf"\bchange\s+{_ARTICLES}{KINDS}\s+name\s+(?:from\s+)?(?P<old>{_WORD})\s+to\s+NEW",
    )
)
_AND_RENAME = _pattern(r"\s*(?:,|;)?\s*(?:and\s+)?OLD\s*(?:\s(?:to|into|as)\s|->|→|=>)\s*NEW")
_PAIRS = re.compile(
    rf"\brename\s+(?:the\s+)?(?:{_KIND}\s+)?(?P<a>{_WORD})\s+and\s+(?P<b>{_WORD}){_WHERE}\s+(?:to|into)\s+(?P<c>{_WORD})\s+and\s+(?P<d>{_WORD})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Rename:
    """An old and a new name, as written."""

    old: str
    new: str
    new_at: int
    """Where in the sentence the new name stands."""


def renames(sentence: Sentence) -> list[Rename]:
    """What is to have another name, in the order of the sentence."""
    pairs = _PAIRS.search(sentence.text)
    if pairs:
        named = [sentence.named(pairs[group]) for group in "abcd"]
        return [Rename(named[0], named[2], pairs.start("c")), Rename(named[1], named[3], pairs.start("d"))]
    found: list[Rename] = []
    for pattern in _RENAMES:
        at = 0
        while match := pattern.search(sentence.text, at):
            while match:
                if not _NEGATED.search(sentence.text[: match.start()]):
                    new = sentence.named(match["new"])
                    found.append(Rename(sentence.named(match["old"]), new, match.start("new")))
                at = match.end()
                match = _AND_RENAME.match(sentence.text, at) if "renam" in sentence.text.casefold() else None
    return found


# --- removals --------------------------------------------------------------------------------------------------------

_REMOVE = re.compile(
    r"\b(?:remov(?:e|ing)|delet(?:e|ing)|drop(?:ping)?|get(?:ting)?\s+rid\s+of|inlin(?:e|ing)|eliminat(?:e|ing)|strip(?:\s+out)?|take\s+out|kill"
    r"|throw\s+away|cut(?:\s+out)?|erase|move|moving|merge|merging|fold|split|absorb)\s+",
    re.IGNORECASE,
)
_ITEM = re.compile(
    rf"(?:,?\s*(?:and|or|&)\s+|,\s*)?{_ARTICLES}(?:{_KIND}\s+(?:of\s+|for\s+|called\s+|named\s+)?)?(?P<item>{_MARK})(?P<possessive>['’]s)?"
    rf"(?P<kind>\s+{KINDS}\b)?",
    re.IGNORECASE,
)
_REPLACE = re.compile(
    rf"\b(?:replac(?:e|ing)|convert(?:ing)?|substitut(?:e|ing)|swap(?:ping)?)\s+(?:(?:the|this|that|its|old|whole|entire)\s+)*(?:{_KIND}\s+)?(?P<old>{NAME})(?:\s+{KINDS})?{_WHERE}"
    rf"\s+(?P<by>with|by|for|into|to)\s+(?P<a>an?\s+)?(?:the\s+)?(?:{_KIND}\s+)?(?P<new>{_WORD})",
    re.IGNORECASE,
)
_AFTER_ITEM = re.compile(
    r"\s*$|\s*[.,;:!?)(]|\s+(?:and|or|but|from|in|into|of|on|to|for|since|because|as|it|so|with|by|which|that|if|when|entirely|completely"
    r"|altogether|again|too|also|here|everywhere|above|below|before|after|under|out|up|down|inside|is|are|plus|then|at|behind|next|across)\b|\s*["
    "\ue000-\uf8ff]",
    re.IGNORECASE,
)
_INSTEAD = re.compile(rf"\b(?:instead\s+of|rather\s+than|in\s+place\s+of)\s+(?:the\s+)?(?P<old>{NAME})", re.IGNORECASE)


def removals(sentence: Sentence) -> list[str]:
    """The names that the instruction removes, replaces by something else or moves away."""
    text = sentence.text
    found: list[str] = []
    for verb in _REMOVE.finditer(text):
        if not _NEGATED.search(text[: verb.start()]):
            found += _objects(sentence, verb.end())[0]
    for match in _REPLACE.finditer(text):
        is_name = re.fullmatch(_MARK, match["new"]) is not None and not match["a"]  # "into a property" it remains
        if match["by"] in ("with", "by", "for") or is_name:
            found.append(sentence.named(match["old"]))
    return found


_DELETE = re.compile(r"\b(?:remove|delete|drop|get\s+rid\s+of|eliminate|erase)\s+", re.IGNORECASE)
_NOTHING_MORE = re.compile(
    r"\s*$|\s*[.,;:!]|\s+(?:and|but|then|too|also|as\s+well|entirely|completely|altogether|since|because|it|which)\b",
    re.IGNORECASE,
)
"""What follows a name that is deleted as such. "remove push from the list" may leave the function there."""
_CODE_KIND = re.compile(r"\b(?:functions?|methods?|class(?:es)?|helpers?|getters?|setters?)\b", re.IGNORECASE)
_PART_OF = re.compile(rf"\b(?:of|for|{KINDS})\b", re.IGNORECASE)
"""Stands beside a name of which only something is deleted: "the tests for load", "the load import"."""
_STAYS = re.compile(r"\b(?:replace|move|put|place|add|keep|merge)\s+(?:it|them|its|their)\b", re.IGNORECASE)


def deletions(sentence: Sentence) -> list[str]:
    """The names of `removals` that are deleted as such: nothing is said of where from, or of what comes instead."""
    text = sentence.text
    if _STAYS.search(text) or _REPLACE.search(text):
        return []
    found: list[str] = []
    for verb in _DELETE.finditer(text):
        objects, end = _objects(sentence, verb.end())
        words = _CODE_KIND.sub(" ", text[verb.end() : end])
        if not _NEGATED.search(text[: verb.start()]) and _NOTHING_MORE.match(text, end) and not _PART_OF.search(words):
            found += objects
    said = [sentence.named(word) for word in re.findall(rf"{_MARK}|[\w-]+", text)]
    return [each for each in found if said.count(each) == 1]


def instead_of(sentence: Sentence) -> list[str]:
    """Names that something else is to be used instead of."""
    return [sentence.named(match["old"]) for match in _INSTEAD.finditer(sentence.text)]


def _objects(sentence: Sentence, at: int) -> tuple[list[str], int]:
    """The names that are the objects of a verb which ends at a place, and where they end."""
    found: list[str] = []
    while match := _ITEM.match(sentence.text, at):
        if match["possessive"] or not _AFTER_ITEM.match(sentence.text, match.end()):
            break  # "remove the X call", "remove X's docstring"
        if (
            re.search(r"\b(?:calls?|uses?|usages?|occurrences?)\s+(?:of|to)?", match[0], re.IGNORECASE)
            and not match["kind"]
        ):
            break
        found.append(sentence.named(match["item"]))
        at = match.end()
    return found, at


# --- additions -------------------------------------------------------------------------------------------------------

_ADD = (
    r"\b(?:add(?:ing)?|create|write|introduce|define|implement|insert|append|put|provide|make|want|need|have|give\s+\S+"
    r"|there\s+should\s+be|with|extract|into(?=\s+(?:an?\s+|its\s+)?new\b))"
)
_NEW_KIND = (
    r"(?P<kind>dependency\s+groups?|extras?(?=\s+(?:called|named|with|\w+\s+with)\b)|methods?|functions?|class(?:es)?|constants?|consts?|variables?|tests?(?:\s+cases?)?|sections?|headings?|chapters?|subsections?|keys?"
    r"|tables?|fields?|property|properties|getters?|setters?|structs?|enums?|traits?|interfaces?|type\s+alias(?:es)?|macros?|helpers?"
    r"|constructors?|fixtures?|variants?|members?|entry|entries|settings?|options?|dependency|dependencies|parameters?|params?|arguments?"
    r"|args?|flags?|attributes?|imports?|includes?|globals?|enum\s+values?|define"
    rf"|(?:generators?|coroutines?)(?=\s+(?:called|named|{NAME})))"
    r"(?!(?<!group)(?<!groups)(?<!extra)\s+(?:hints?|annotations?|checks?|guards?|comments?|docstrings?|docs?|documentation|validation|doc\s+comments?|calls?|names?)\b)"
)
_ADJECTIVE = (
    r"(?:new|small|simple|private|public|static|protected|helper|unit|global|module(?:-level)?|top-level|second|third|another|optional|boolean"
    r"|bool|string|integer|int|async|abstract|class|instance|keyword(?:-only)?|required|default|missing|empty|short|convenience|read-only|utility|extra"
    r"|additional|config|const|dev|runtime|read|exported|inline|level-\d|numeric|float|void|char|double|long|unsigned)"
)
_ADJECTIVES = rf"(?:{_ADJECTIVE}\s+)*"
_ARTICLE = r"(?:an?|another|the|one|some|two|three|its|my|new|\d+)\s+"
_NO_NAME = (
    r"(?!(?:that|which|to|for|in|into|with|after|before|and|of|on|under|below|above|returning|who|so|from|at|as|is|are|or|about|by|inside|where"
    r"|taking|between|near|whose|called|named|like|explaining|describing|listing|using|right|it|if|next|following|when|behind|checking|containing)\b)"
)
_KIND_FIRST = re.compile(
    rf"{_ADD}\s+(?:me\s+)?(?:{_ARTICLE})*{_ADJECTIVES}{_NEW_KIND}(?:\s*,?\s*(?:called|named|with\s+the\s+name))?:?(?:\s+(?:{KINDS}\s+)?{_NO_NAME}(?P<name>{_WORD}))?",
    re.IGNORECASE,
)
_NAME_FIRST = re.compile(
    rf"{_ADD}\s+(?:me\s+)?(?:{_ARTICLE})*{_ADJECTIVES}{_NO_NAME}"
    rf"(?!(?:{_ARTICLE}|{_ADJECTIVE}\s|{KINDS}\s|(?:the|return|docstring|doc)\s))(?P<name>{_WORD})\s+{_ADJECTIVES}{_NEW_KIND}",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"\b(?:called|named)\s+(?P<name>{_WORD})", re.IGNORECASE)
_BARE = re.compile(
    rf"\b(?:add|define|implement|create|introduce|write|insert)\s+(?:an?\s+|the\s+)?(?P<name>{_MARK})(?=\s*$|\s*[.,;]|\s+(?:to|in|into|on|for|under|after"
    r"|before|that|which|and|with|so|below|above|returning|at|as)\b)",
    re.IGNORECASE,
)
_INTO = re.compile(
    rf"\b(?:split|extract|factor|break|pull)\b[^.;]*\binto\s+(?:{_ARTICLE})*{_ADJECTIVES}(?:{KINDS}\s+)?(?P<name>{NAME})"
    rf"(?:\s+and\s+(?P<second>{NAME}))?",
    re.IGNORECASE,
)
_IMPORT = re.compile(rf"\bimport\s+(?:the\s+)?(?:module\s+)?(?P<name>{_WORD})", re.IGNORECASE)


def additions(sentence: Sentence) -> list[Addition]:
    """What the instruction wants new, in the order of the sentence."""
    found: dict[int, Addition] = {}
    for pattern in (_NAME_FIRST, _KIND_FIRST, _NAMED, _BARE):
        for match in pattern.finditer(sentence.text):
            if _NEGATED.search(sentence.text[: match.start()]) or any(
                match.start() <= at < match.end() for at in found
            ):
                continue
            groups = match.groupdict()
            written = sentence.named(groups["name"]) if groups["name"] else ""
            start = match.start("name") if groups["name"] else match.end() - 1
            kind = _singular(groups.get("kind") or "")
            if not kind and re.match(r"\w+\s*[:=]", written):
                kind = "field"  # `timeout: int = 30`
            found[start] = Addition(kind, _defined_by(written), start)
    return [found[at] for at in sorted(found)]


def separated(sentence: Sentence) -> list[str]:
    """The names that something is to be split or extracted into."""
    return [
        sentence.named(mark)
        for match in _INTO.finditer(sentence.text)
        for mark in (match["name"], match["second"])
        if mark
    ]


def imported(sentence: Sentence) -> list[str]:
    """Names that the instruction wants imported."""
    return [
        _defined_by(sentence.named(match["name"]))
        for match in _IMPORT.finditer(sentence.text)
        if re.fullmatch(NAME, match["name"]) or match["name"].casefold() not in _NOT_MODULES
    ]


_NOT_MODULES = frozenset(
    (
        "of",
        "for",
        "and",
        "block",
        "blocks",
        "statement",
        "statements",
        "list",
        "section",
        "order",
        "from",
        "the",
        "a",
        "at",
    )
)


def _defined_by(written: str) -> str:
    """The name that a piece of code defines: of `timeout: int = 30`, `def peek(self)`, `<string.h>`."""
    match = re.match(
        r"\W*(?:(?:pub|async|static|export|const|let|var|def|fn|func|function|class|struct|enum|import|from|use|#define|#include|int|void|char)\s+)*"
        r"(?:\([^)]*\)\s*)?([A-Za-z_][\w.-]*)",
        written.lstrip("#"),
    )
    return (
        match[1]
        if match and not written.startswith("[") and " " not in written.split("=")[0].strip().split(":")[0]
        else written.strip("[]")
    )


def _singular(kind: str) -> str:
    kind = " ".join(kind.casefold().split())
    if kind.endswith("ies"):
        return kind[:-3] + "y"
    return (
        kind.removesuffix("es")
        if kind.endswith(("sses", "ases"))
        else kind
        if kind.endswith("ss")
        else kind.removesuffix("s")
    )
