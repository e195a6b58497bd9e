"""Whether what the instruction names as new is there: code it spells out that the file did not have. Pure.

A change that forgets the very exception it was to raise is not the change that was asked for.
"""

from __future__ import annotations

import re
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
