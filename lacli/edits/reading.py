"""Reads an instruction: which names of the file it mentions, and what is to become of them. Pure.

A name is what looks like one, or stands where the sentence puts a name. An English word that the file happens to define
is none by itself: "add items to the list" names neither `add` nor `items`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lacli.edits.intent import Intent
from lacli.edits.outline import Outline

_ID = r"[^\W\d][\w-]*(?:(?:\.|::)[^\W\d][\w-]*)*"
_KINDS = (
    r"(?:functions?|methods?|class(?:es)?|structs?|types?|enums?|traits?|impls?|interfaces?|variables?|constants?|"
    r"parameters?|params?|arguments?|args?|attributes?|fields?|propert(?:y|ies)|members?|keys?|tables?|sections?|"
    r"headings?|chapters?|macros?|modules?|imports?|options?|locals?|helpers?|tests?|constructors?|getters?|setters?|"
    r"subsections?|entr(?:y|ies)|dependenc(?:y|ies)|settings?|flags?|decorators?)"
)
_QUOTED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)|“([^”\n]+)”|\[\[?([\w.\"-]+)\]\]?")
_DOTTED = re.compile(r"(?<![\w.])[^\W\d]\w*(?:(?:\.|::)#?[^\W\d]\w*)+")
_SHAPED = re.compile(
    r"(?<![\w.])(?:#?_*[^\W\d_]\w*_\w+|_+\w+|#[^\W\d]\w*|[a-z]+\d*[A-Z]\w*|[A-Z]\w*[a-z]\w*[A-Z]\w*|"
    r"[A-Z][A-Z\d]{2,}|\w*[^\W\d]\d\w*)"
)
_CALLED = re.compile(rf"(?<![\w.])({_ID})\(")
_BEHIND_KIND = re.compile(rf"\b{_KINDS}\s+(?:called\s+|named\s+|of\s+)?({_ID})", re.IGNORECASE)
_BEFORE_KIND = re.compile(rf"(?<![\w.])({_ID})(?:'s)?\s+{_KINDS}\b", re.IGNORECASE)
_PLACED = re.compile(
    rf"\b(?:in|of|to|from|for|into|inside|on|after|before|above|below|behind|and|make|let|when|whether|if|that|give|"
    rf"inline|rename|remove|delete|drop|move|document|calls?|to the|in the|of the|replace|convert|change)\s+({_ID})",
    re.IGNORECASE,
)
_VERBED = re.compile(
    rf"\b(?:rename|remove|delete|drop|move|inline|document|replace)\s+({_ID})"
    r"(?=\s+(?:to|above|below|before|after|from|into|in|with|by|and|as)\b|\s*[,.;]|\s*$)",
    re.IGNORECASE,
)
_POSSESSED = re.compile(rf"(?<![\w.])({_ID})'s\b")
_NEW = re.compile(
    rf"\b(?:called|named)\s+[`\"']?(#?{_ID})|\bnew\s+{_KINDS}\s+[`\"']?({_ID})|"
    rf"\b(?:add|write|create|insert|define|implement|introduce|give|append)\b[^.;]*?\b{_KINDS}\s+[`\"']?(#?{_ID})",
    re.IGNORECASE,
)
_NEW_BEFORE_KIND = re.compile(
    rf"\b(?:add|write|create|insert|define|implement|introduce|give|append)\b[^.;]*?\s(#?[^\W\d]\w*)(?:\(\))?\s+{_KINDS}",
    re.IGNORECASE,
)
_NAME = r"[`\"'“]?(#?[^\W\d][\w.:-]*[^\W_]|#?_*[^\W\d]\w*|_+\w+)[`\"'”]?(?:\(\))?"
_RENAMES = (
    re.compile(
        rf"\brename\s+(?:the\s+)?(?:\w+\s+)??(?:{_KINDS}\s+)?{_NAME}(?:\s+[\w .:]{{1,60}}?)??"
        rf"\s+(?:to|into|as|->|=>)\s+{_NAME}",
        re.I,
    ),
    re.compile(rf"\bchange the name of\s+(?:the\s+)?(?:{_KINDS}\s+)?{_NAME}\s+to\s+{_NAME}", re.I),
    re.compile(rf"\bcall\s+(?:the\s+)?(?:{_KINDS}\s+)?{_NAME}\s+{_NAME}\s+instead", re.I),
    re.compile(rf"{_NAME}\s+should be (?:called|named|renamed to)\s+{_NAME}", re.I),
)
_MORE_RENAMES = re.compile(
    rf"(?:,|\band\b)\s*(?:rename\s+)?(?:the\s+)?(?:{_KINDS}\s+)?{_NAME}\s+(?:to|into|as)\s+{_NAME}", re.I
)
_REMOVES = re.compile(
    r"\b(?:remove|delete|drop|get rid of|inline|strip|kill|eliminate|replace|move|merge|fold)\b([^;.]*(?:\.\w[^;.]*)*)",
    re.I,
)
_UP_TO = re.compile(
    r"\b(?:with|by|from|in|into|to|out of|so that|because|since|above|below|after|before|of|when|if|"
    r"and (?:add|use|return|make|change|let|put))\b",
    re.I,
)
_EVERYWHERE = re.compile(
    r"\b(?:everywhere|throughout|all (?:calls?|uses?|usages?|occurrences?|places?|methods?|functions?|callers?|of)|"
    r"every (?:call|use|usage|occurrence|place|method|function|caller)|each (?:call|use|usage|occurrence|place|method|"
    r"function|caller)|whole file|entire file|across)\b",
    re.IGNORECASE,
)


def intent_of(instruction: str, text: str, outline: Outline | None) -> Intent:
    """The instruction for this text, taken apart."""
    known = _Known(text, outline)
    renames = tuple(_renames(instruction, known))
    names = {found for each in _mentioned(instruction, known) for found in known.of(each)}
    if not any(map(known.defines, names)):
        names |= {found for each in _fallback(instruction, known) for found in known.of(each)}
    for old, _ in renames:
        names.update(known.of(old))
    within = known.within(names)
    names = (names - {label.rpartition(".")[2] for label in within}) | within
    new = {name for _, name in renames}
    adds = {name for name in _new(instruction) if not known.of(name)} | new
    removes = set(_removed(instruction, names, known)) - {old for old, _ in renames}
    return Intent(
        text=instruction,
        names=frozenset(names - (new - {old for old, _ in renames})),
        renames=renames,
        removes=frozenset(removes),
        adds=frozenset(adds),
        everywhere=bool(_EVERYWHERE.search(instruction)),
    )


class _Known:
    """The names of a file."""

    def __init__(self, text: str, outline: Outline | None) -> None:
        definitions = outline.definitions if outline is not None else ()
        self.labels = {each.label for each in definitions}
        self.headings = {each.name.lower(): each.name for each in definitions if each.kind == "heading"}
        self.defined = {each.name for each in definitions} | {name for each in definitions for name in each.parameters}
        self.functions = {each.name for each in definitions if each.kind in ("function", "class")}
        self.words = set(re.findall(r"#?[^\W\d][\w-]*", text)) | set(re.findall(r"[^\W\d]\w*", text))
        self.is_prose = outline is not None and outline.language == "markdown"
        self.is_data = outline is not None and outline.language in ("toml", "json", "yaml")
        self.tables = {each.name.rpartition(".")[2].strip('"'): each.name for each in definitions if "." in each.name}
        """Of tables the last part of their names."""

    def of(self, name: str) -> tuple[str, ...]:
        """What a word of the instruction names in the file: as it was written, and by its last part."""
        name = name.strip("`\"'[]() ").removesuffix("()")
        heading = self.headings.get(name.lower().strip("# "))
        if heading is not None:
            return (heading,)
        name = name.replace("::", ".")
        last = name.rpartition(".")[2]
        if name in self.tables and name not in self.labels:
            return (self.tables[name],)
        if name in self.labels or name in self.defined:
            return (name,) if last == name or last not in self.defined else (name, last)
        if "." in name and last in self.defined and name.rpartition(".")[0].rpartition(".")[2] in self.defined:
            return (name, last)
        if "." in name and any(label.endswith("." + name) for label in self.labels):
            return (name, last)
        if "." in name and last in self.defined:
            return (last,)
        return (name,) if not self.is_prose and name in self.words and not name[:1].isdigit() else ()

    def within(self, names: Iterable[str]) -> set[str]:
        """Of names that several things have, the labels of those in something named: `push` of Stack as Stack.push."""
        names = set(names)
        shared = [label for label in self.labels if "." in label and label.rpartition(".")[2] in names]
        found = set()
        for label in shared:
            owner, _, name = label.rpartition(".")
            several = sum(other.rpartition(".")[2] == name for other in self.labels) > 1
            if several and owner.rpartition(".")[2] in names and owner.rpartition(".")[2] != name:
                found.add(label)
        return found

    def defines(self, name: str) -> bool:
        """Whether it is a definition, parameter, heading or key."""
        return name in self.defined or name in self.labels or name.lower() in self.headings


def _mentioned(instruction: str, known: _Known) -> Iterator[str]:
    """Words that are names by their looks, or by where they stand and the file defining them."""
    yield from _quoted(instruction, known)
    bare = _QUOTED.sub(lambda found: " " * len(found[0]), instruction)
    yield from _bare(bare, known)
    yield from _of_data(bare, known)
    lower = instruction.lower()
    for heading, name in known.headings.items():
        if len(heading) > 2 and re.search(rf"(?<!\w){re.escape(heading)}(?!\w)", lower):
            yield name


def _quoted(instruction: str, known: _Known) -> Iterator[str]:
    for found in _QUOTED.finditer(instruction):
        inner = next(each for each in found.groups() if each is not None)
        if found[1] is not None or found[5] is not None or known.defines(inner) or known.of(inner)[:1] == (inner,):
            yield inner
        if found[1] is not None:
            yield from re.findall(r"[^\W\d]\w*", inner)[:1] if "(" in inner else ()


def _bare(bare: str, known: _Known) -> Iterator[str]:
    """Names without quotes around them."""
    for pattern in (_DOTTED, _SHAPED):
        for found in pattern.finditer(bare):
            yield found[0]
    yield from (found[1] for found in _CALLED.finditer(bare))
    for pattern in (_BEHIND_KIND, _VERBED, _PLACED, _POSSESSED):
        for found in pattern.finditer(bare):
            if known.defines(found[1]) and not _is_plain_word(found[1], pattern, bare, found.end(1)):
                yield found[1]
    first = re.match(r"\W*(\w+)", bare)
    for found in _BEFORE_KIND.finditer(bare):
        if known.defines(found[1]) and (first is None or found.start(1) != first.start(1)):
            yield found[1]
    for word in re.findall(r"(?<![\w.])[A-Z][a-z]+\w*", bare[1:]):  # a capital in the middle of a sentence
        if word in known.defined:
            yield word


def _of_data(bare: str, known: _Known) -> Iterator[str]:
    """Keys and tables, which are named as they are written."""
    if not known.is_data:
        return
    for name in (*known.defined, *known.tables):
        if name not in _ENGLISH and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", bare[1:]):
            yield name


def _fallback(bare: str, known: _Known) -> Iterator[str]:
    """Where nothing else is named: words that a definition has for its name, and that are no everyday ones."""
    for found in list(re.finditer(r"(?<![\w.-])[a-z]\w{3,}(?![\w-])", bare))[1:]:
        if found[0] in known.functions and found[0] not in _ENGLISH:
            yield found[0]


def _is_plain_word(word: str, pattern: re.Pattern[str], text: str, end: int) -> bool:
    """Whether a word that follows a preposition is likelier English: "to all callers", "if done"."""
    if pattern is not _PLACED or not word.islower():
        return False
    return word in _ENGLISH or bool(re.match(r"\s+(?:the|a|an)\b", text[end:]))


_MARKED_ONLY = """
    a an all any and as at be by each every for from in is it its new no none not of on one only or same
    so some that the them then there they this to true false up use with value values name names list
    dict set type object default self other first last data empty line lines file files key keys item
    items
"""
_ENGLISH = frozenset(_MARKED_ONLY.split())
"""Words that are names only where something marks them as such."""


def _renames(instruction: str, known: _Known) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for pattern in _RENAMES:
        for found in pattern.finditer(instruction):
            yield from _pair(found, known, seen)
            end = found.end()
            while more := _MORE_RENAMES.match(instruction[end:].lstrip(" ")):
                yield from _pair(more, known, seen)
                end += more.end() + len(instruction[end:]) - len(instruction[end:].lstrip(" "))


def _pair(found: re.Match[str], known: _Known, seen: set[str]) -> Iterator[tuple[str, str]]:
    old, new = (each.replace("::", ".").rpartition(".")[2] for each in (found[1], found[2]))
    heading = known.of(old)
    if known.is_prose and heading:  # whose new name may be several words
        old, new = heading[0], re.split(r"[.;\n]|,? and ", found.string[found.start(2) :])[0].strip("`\"'“” ")
    if old != new and old not in seen and known.of(old):
        seen.add(old)
        yield old, new


def _new(instruction: str) -> Iterator[str]:
    for found in _NEW.finditer(instruction):
        name = next(each for each in found.groups() if each is not None)
        if name.lower() not in _ENGLISH and name.lower() not in (
            "to",
            "which",
            "returning",
            "returns",
            "called",
            "named",
        ):
            yield name.rpartition(".")[2]
    for found in _NEW_BEFORE_KIND.finditer(instruction.replace("`", "")):
        if _SHAPED.fullmatch(found[1]):
            yield found[1]


def _removed(instruction: str, names: Iterable[str], known: _Known) -> Iterator[str]:
    """Of the names, those that stand behind a verb of removing, before the sentence turns to something else."""
    for found in _REMOVES.finditer(instruction):
        part = _UP_TO.split(found[1], maxsplit=1)[0]
        for name in names:
            if re.search(
                rf"(?<![\w.]){re.escape(name)}(?!\w)", part, re.IGNORECASE if name in known.headings.values() else 0
            ):
                yield name
