"""Whether a change is the one asked for, as far as the instruction's words tell. Pure.

What it spells out as new has to be there: a change that forgets the very exception it was to raise is another one. And
an instruction that only adds something, a guard or a docstring, takes no statement away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lacli.edits.checks.fault import Fault
from lacli.edits.checks.scope import Scope
from lacli.edits.tree.outline import Definition
from lacli.edits.tree.pieces import Pieces, mentions, renamed

_CODE = re.compile(
    r"`([^`\n]+)`|(?<![\w.])([A-Z][a-z]+(?:[A-Z][a-z]+)+)(?![\w.])|(?<![\w.])([a-z]\w*\[[^\]\n]+\])|"
    r"(?<![\w.])([a-z]+_[a-z_\d]+)(?!\w)"
)
"""In backquotes, in camel case, with an index, with underscores."""
_ASIDE = re.compile(
    r"\b(?:like|as|as in|see|instead of|without|not|from|than|unlike|remove|delete|drop|no)\s+(?:an?\s+|the\s+)?$", re.I
)
"""Before what is only compared with, or is to go."""


def asked(scope: Scope) -> Iterator[Fault]:
    """Of code that the instruction spells out and the old text lacks, what the new text lacks, too."""
    text = scope.intent.text
    before, after = ("".join(each.text.split()) for each in (scope.old, scope.new))
    known = {*scope.intent.names, *scope.intent.removes, *(old for old, _ in scope.intent.renames)}
    for found in _CODE.finditer(text):
        code = next(each for each in found.groups() if each)
        bare = "".join(code.split()).removesuffix("()")
        if _ASIDE.search(text[: found.start()]) or code in known or bare in before or bare in after:
            continue
        yield Fault("asked", f"`{code}`, which was asked for, is not in it")
    yield from _types(scope)
    yield from _missing(scope)
    yield from _halves(scope)
    yield from _undeleted(scope)
    yield from _moved(scope)


_OF_SECTIONS = re.compile(r"\b(?:section|heading|chapter|subsection)s?\b", re.IGNORECASE)
_AS_DEFINED = r"(?:methods?|functions?|class|struct|enum|trait|interface|getter|setter)\s+(?:called\s+|named\s+)?`?"


def _missing(scope: Scope) -> Iterator[Fault]:
    """What is asked for by name and is not there afterwards."""
    defined = {each.name for each in scope.new.definitions}
    text = " ".join(scope.new.tokens())
    for name in sorted(scope.intent.adds):
        if scope.old.language == "markdown":
            has = any(mentions([each.name], [name]) for each in scope.new.definitions)
            if _OF_SECTIONS.search(scope.words) and not has:
                yield Fault("asked", f"there is no section {name}")
            continue
        if name in defined or (not name.isidentifier() and not _is_data(scope)):
            continue
        is_key = _is_data(scope) and scope.old.outline is not None
        as_defined = re.search(rf"\b{_AS_DEFINED}{re.escape(name)}(?!\w)", scope.intent.text) is not None
        dotted = any(name in each.name.split(".") for each in scope.new.definitions)
        if not dotted and (is_key or (as_defined and scope.old.language != "c") or not mentions([text], [name])):
            yield Fault("asked", f"`{name}`, which was asked for, is not there")


def _is_data(scope: Scope) -> bool:
    return scope.old.language in ("toml", "json", "yaml")


_CLAUSE = re.compile(
    r"(?:^(?:in\s+\S+,?\s+)?|[,;.]?\s+(?:and|then|also|and then|and also)\s+|[;.]\s+)(?:please\s+)?"
    r"(?P<verb>rais|set|chang|bump|lower|increas|reduc|remov|delet|drop|renam|add|replac|updat|call|us|mov|convert|turn)(?:e|es|s)?\s",
    re.IGNORECASE,
)


def _halves(scope: Scope) -> Iterator[Fault]:
    """Clauses of an instruction that name definitions of which none has changed: only half of it is done."""
    text = scope.intent.text
    begins = [match.start() for match in _CLAUSE.finditer(text)]
    if len(begins) < 2:
        return
    elsewhere = scope.intent.adds | scope.intent.removes | {name for pair in scope.intent.renames for name in pair}
    for start, end in zip(begins, [*begins[1:], len(text)], strict=True):
        clause = text[start:end]
        if mentions([clause], elsewhere):  # which other checks look after
            continue
        named = [
            at
            for at, each in enumerate(scope.old.definitions)
            if scope.is_named(each) and (mentions([clause], [each.name]) or _names_item(scope, each, clause))
        ]
        if named and not any(_has_changed(scope, at) for at in named):
            yield Fault("asked", f"`{scope.old.definitions[named[0]].label}` is not changed")


def _undeleted(scope: Scope) -> Iterator[Fault]:
    """Definitions that were to go and are there still."""
    for name in sorted(scope.intent.deletes):
        places = [at for at, each in enumerate(scope.old.definitions) if name in (each.name, each.label)]
        if places and all(scope.became[at] is not None for at in places):
            yield Fault("asked", f"`{name}`, which was to be removed, is still there")


def _names_item(scope: Scope, each: Definition, clause: str) -> bool:
    """Whether a clause is about an item of this list."""
    one = each.name.removesuffix("ies") + "y" if each.name.endswith("ies") else each.name.removesuffix("s")
    return _is_data(scope) and mentions([clause], [one])


def _has_changed(scope: Scope, at: int) -> bool:
    each, now = scope.old.definitions[at], scope.became[at]
    return now is None or scope.old.lines[each.start : each.end] != scope.new.lines[now.start : now.end]


_MOVES_CODE = re.compile(
    r"^(?:please\s+)?(?:move|extract|pull|factor)\b.*\b(?:in)?to\s+(?:an?|its|one)\s+(?:new\s+|own\s+|\w+\s+)?"
    r"(?:method|function|helper)",
    re.IGNORECASE | re.DOTALL,
)


def _moved(scope: Scope) -> Iterator[Fault]:
    """Lines that were to be moved into something new, and are nowhere any more."""
    if not _MOVES_CODE.search(scope.intent.text) or scope.old.language == "markdown":
        return
    there = {"".join(line.split()) for line in scope.new.lines}
    for at, each in enumerate(scope.old.definitions):
        if each.kind != "function" or not scope.is_named(each) or not _has_changed(scope, at):
            continue
        for row in range(each.signature_end, each.end):
            words = re.findall(r"\w+", " ".join(scope.old.tokens(row, row + 1)))
            opens = scope.old.lines[row].rstrip().endswith(("{", "(", "{("))
            if len(words) > 1 and not opens and "".join(scope.old.lines[row].split()) not in there:
                yield Fault(
                    "lost", f"`{scope.old.lines[row].strip()[:50]}` of `{each.label}` was to be moved and is gone"
                )
                return


_OF_TYPES = re.compile(r"\b(?:annotat\w*|typed?|types|type hints?|hints?)\b", re.IGNORECASE)
_AS_TYPE = re.compile(
    r"\b(?:as|to|with|be|is|returns?)\s+(?:an?\s+)?"
    r"(object|int|str|float|bool|bytes|list|dict|set|tuple|string|number|boolean|unknown|any|void|never)\b(?!\.\w|[(-])"
)


def _types(scope: Scope) -> Iterator[Fault]:
    """Types that the instruction spells out, which are plain words: `annotate it as object`."""
    if not _OF_TYPES.search(scope.words) or scope.old.language not in ("python", "typescript"):
        return
    had, has = (Counter(each.tokens()) for each in (scope.old, scope.new))
    for name in dict.fromkeys(_AS_TYPE.findall(scope.intent.text)):
        if has[name] <= had[name]:
            yield Fault("asked", f"`{name}`, which was asked for, is not in it")


_DOES_NOTHING = re.compile(
    r"\b(?:ignor\w*|unused|nothing|no-?op|stubs?|abstract|placeholder|interface|not implemented)\b", re.I
)
_FEW_TOKENS = 6
"""A body of fewer tokens is one on purpose: `return None`."""
_OWN = ("self", "cls", "this")


def unused(scope: Scope) -> Iterator[Fault]:
    """Parameters that a function has and makes no use of: any more, or of a new one where the instruction has them."""
    for at, each in enumerate(scope.old.definitions):
        now = scope.became[at]
        if now is None or each.kind != "function" or scope.is_as_it_was(at) or _is_trivial(scope.new, now):
            continue
        for name in each.parameters:
            if name in _OWN or name.startswith("_"):
                continue
            new = renamed(name, scope.renames)
            is_meant = mentions([scope.intent.text], [name]) or name in scope.intent.removes
            if (
                new in now.parameters
                and not is_meant
                and _is_used(scope.old, each, name) > _is_used(scope.new, now, new)
            ):
                yield Fault("unused", f"`{each.label}` makes no use of its parameter {name} any more")
    if _DOES_NOTHING.search(scope.intent.text):
        return
    had = {each.path for each in scope.old.definitions}
    for each in scope.new.definitions:
        if each.kind != "function" or each.path in had or each.name not in scope.intent.adds:
            continue
        written = re.search(rf"(?<!\w){re.escape(each.name)}\(([^()]*)\)", scope.intent.text)
        if written is None or _is_trivial(scope.new, each):
            continue
        for name in each.parameters:
            asked_for = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", written[1])
            if asked_for and not _is_used(scope.new, each, name):
                yield Fault("unused", f"`{each.label}` makes no use of its parameter {name}")


def _is_trivial(text: Pieces, function: Definition) -> bool:
    return len(text.tokens(function.signature_end, function.end)) < _FEW_TOKENS


def _is_used(text: Pieces, function: Definition, name: str) -> bool:
    """Whether a function has the name of its parameter once more; what its comments and docstring say is no use."""
    found = (
        text.tokens(function.head, function.end)
        if function.doc is None
        else (text.tokens(function.head, function.doc[0]) + text.tokens(function.doc[1], function.end))
    )
    return len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", " ".join(found))) > 1


_ONLY_ADDS = re.compile(
    r"\b(?:raises?|throws?|panics?|asserts?|validat\w+|rejects?|refuses?|guards?|warns?|logs?|docstrings?|documents?|"
    r"jsdoc|comments?|doc comments?)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:instead|replac\w*|chang\w*|convert\w*|renam\w*|remov\w*|delet\w*|drop\w*|rewrit\w*|simplif\w*|"
    r"refactor\w*|"
    r"turn\w*|set|mov\w*|split\w*|merg\w*|support\w*|extend\w*|allow\w*|only|no longer|not|rather|fix\w*|"
    r"correct\w*|use)\b",
    re.IGNORECASE,
)


def kept(scope: Scope) -> Iterator[Fault]:
    """Statements that are gone from a function although the instruction only adds to it."""
    if not _ONLY_ADDS.search(scope.words) or _CHANGES.search(scope.words) or scope.renames or scope.intent.removes:
        return
    for at, each in enumerate(scope.old.definitions):
        now = scope.became[at]
        if each.kind != "function" or now is None or not scope.is_named(each):
            continue
        comments = {row for block in scope.old.comments for row in range(block.start, block.end) if block.alone}
        if each.doc is not None:
            comments.update(range(*each.doc))
        body = [scope.old.lines[row].strip() for row in range(each.signature_end, each.end) if row not in comments]
        there = Counter(line.strip() for line in scope.new.lines[now.start : now.end])
        for line in filter(None, body):
            found = next((form for form in (line, f"el{line}") if there[form]), None)
            if found is None:
                yield Fault("lost", f"`{line[:60]}` of `{each.label}` is gone, and something was only to be added")
                return
            there[found] -= 1
