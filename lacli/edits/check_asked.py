"""Whether a change is the one asked for, as far as the instruction's words tell. Pure.

What it spells out as new has to be there: a change that forgets the very exception it was to raise is another one. And
an instruction that only adds something, a guard or a docstring, takes no statement away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lacli.edits.fault import Fault
from lacli.edits.outline import Definition
from lacli.edits.pieces import Pieces, mentions, renamed
from lacli.edits.scope import Scope

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
        yield Fault("asked", f"`{code}`, which the instruction names, is not in it")
    yield from _types(scope)


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
            yield Fault("asked", f"`{name}`, which the instruction names, is not in it")


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
                yield Fault("lost", f"`{line[:60]}` of `{each.label}` is gone, and the instruction only adds something")
                return
            there[found] -= 1
