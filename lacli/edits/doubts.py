"""What speaks against taking a rewritten text for the original: parts left out that nobody asked to leave out. Pure.

Called by `apply`. Each doubt is one line for the user, who may overrule it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lacli.edits.hunks import Hunk, hunks
from lacli.text.lines import written

_PLACEHOLDER = re.compile(
    r"""(?:\.{3}|…)?\s*(?:the\ |keep\ |all\ )*
    (?:(?:rest|remainder|remaining)\b.{0,60}?\b(?:code|file|content|method|function|class|line|text|part|section|stays?|
        unchanged|same|here|omitted|as\ is)\w*
    |(?:existing|previous|original|other)\s(?:\w+\s)?(?:code|content|method|function|class|line|implementation|import|
        test|section|entr|item|stuff|part|logic)\w*
    |(?:unchanged|omitted|no\ changes?|same\ as|as\ before)\b)
    .{0,40}
    |(?:\.{3}|…).{0,60}?\b(?:rest|existing|unchanged|same|remain|other|more|here|omitted|code|etc)\w*.{0,40}
    |\.{3}|…""",
    re.VERBOSE | re.IGNORECASE,
)
"""What stands in such a line besides a comment's marks."""
_COMMENT = re.compile(r"\{?(?:#|//|/\*|\*|<!--|--|;|%)|[\[({<]?\s*(?:\.{3}|…)")
_MARKS = "#/*<!->;%{}[]() \t"
_BARE_DOTS = re.compile(r"\.{3}|…")
_DOTS_FOR = 3
"""So many lines lost to bare dots are no body written so on purpose."""
_SHORTENS = re.compile(
    r"\b(?:remov|delet|drop|strip|simplif|shorten|reduc|clean|extract|refactor|inlin|dedup|duplicat|merg|condens|"
    r"compress|compact|trim|cut|replac|rewrit|summar|minif|short|small|only|without|keep|unused|dead|move|split|"
    r"combin|collaps|join|unify|concise|empty|clear|truncat|get rid|less|fewer|tidy|turn|convert|translat|instead)"
    r"\w*",
    re.IGNORECASE,
)
_FEW_LINES = 6
"""A part of fewer lines may shrink to anything but nothing."""
_LOST_SHARE = 0.4
_LOST_RUN = 12
"""So many lines gone in one place, with next to nothing in their stead, are missed."""


def doubts(before: str, after: str, instruction: str, hidden: int = 0) -> tuple[str, ...]:
    """What the user should be asked about. `hidden`: how many characters went that the model cannot see."""
    old, new = before.split("\n"), after.split("\n")
    found = _placeholder(old, new, instruction) or _shrunken(old, new, instruction)
    if not found and hidden and not may_shrink(instruction):
        found = f"with the lines it changes the reply loses {hidden} character{'s' * (hidden > 1)} the model cannot see"
    return (found,) if found else ()


def takes_most_away(before: str, after: str) -> str:
    """That little of a text is left, whatever was asked for: for whoever looks at the change, and may not mean it.

    Empty where most of it is there.
    """
    had, has = written(before.split("\n")), written(after.split("\n"))
    if had < _FEW_LINES or had - has <= had * _LOST_SHARE:
        return ""
    return f"this leaves {has} of {had} lines: if the block is only a part, the rest of the file is lost"


def may_shrink(instruction: str) -> bool:
    """Whether the instruction asks for something that makes a text shorter."""
    return bool(_SHORTENS.search(instruction))


def _placeholder(old: Sequence[str], new: Sequence[str], instruction: str) -> str:
    """A line that stands for what the model did not write again."""
    for hunk in hunks(old, new):
        lost = written(old[hunk.start : hunk.end])
        for line in new[hunk.new_start : hunk.new_end]:
            if _stands_for(line.strip(), lost) and line.strip() not in instruction:
                return f"the reply leaves out what was to be kept ({line.strip()[:60]!r})"
    return ""


def _stands_for(line: str, lost: int) -> bool:
    """Whether this line is written in place of so many."""
    if _BARE_DOTS.fullmatch(line):
        return lost >= _DOTS_FOR
    return lost > 0 and bool(_COMMENT.match(line) and _PLACEHOLDER.fullmatch(line.strip(_MARKS)))


def _shrunken(old: Sequence[str], new: Sequence[str], instruction: str) -> str:
    had, has = written(old), written(new)
    if had and not has:
        return "" if may_shrink(instruction) else "the reply is empty"
    if had < _FEW_LINES or may_shrink(instruction):
        return ""
    if had - has > had * _LOST_SHARE:
        lines = "line" if has == 1 else "lines"
        return f"the reply has {has} {lines} where {had} were, and the instruction asks for no shortening"
    for hunk in hunks(old, new):
        gone, came = _of(hunk, old, new)
        if gone >= _LOST_RUN and came * 4 <= gone:
            return f"the reply lacks {gone - came} lines from line {hunk.start + 1} on that nobody asked to remove"
    return ""


def _of(hunk: Hunk, old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    return written(old[hunk.start : hunk.end]), written(new[hunk.new_start : hunk.new_end])
