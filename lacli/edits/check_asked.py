"""Whether a change is the one asked for, as far as the instruction's words tell. Pure.

What it spells out as new has to be there: a change that forgets the very exception it was to raise is another one. And
an instruction that only adds something, a guard or a docstring, takes no statement away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lacli.edits.fault import Fault
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
