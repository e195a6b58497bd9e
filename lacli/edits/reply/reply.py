"""The rewritten text that a reply holds: which of its fences is the outer one is judged by the original. Pure.

Models put the rewritten part into one fenced block, as asked; around it stands prose, or a second block; inside it
there may be fences as long as its own, where the original has some; and some give the text without any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from lacli.text.fences import Fence, blocks, fence_of, longer_than_any, without_indent
from lacli.text.lines import likeness, with_ends

_MOST_OPENINGS, _MOST_ENDS = 3, 400
"""Blocks for which other ends than CommonMark's are tried, and how many of those."""
_ALIKE = 0.5
"""Likeness from which a text counts as a version of the original although nothing else says so."""
_SAME_LINE = 0.6
"""Likeness from which a changed line counts as the same one."""
_LONGEST_LINE = 2000
"""Characters of a line up to which it is compared letter by letter."""
_SHORTEST = 3
"""Letters of the fence that serves where the original has none."""
_PROSE_LINES = 5
"""Lines of prose that may stand around a text given without a fence."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What a reply gave for the part it was asked to rewrite."""

    text: str
    """Each line with its \\n."""
    whole: bool
    """Whether the reply shows that nothing is missing at the end."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    closed: bool
    likeness: float
    by_rule: bool
    """Whether CommonMark sees this very block."""


def rewritten(reply: str, original: str, ended: bool = True) -> Rewritten | None:
    """The text for `original` in the reply, None where it has none. `ended`: the model itself ended the reply."""
    asked = _as_asked(reply, original)
    found = asked or list(_candidates(reply, original))
    bare = "" if asked else _bare(reply, original)
    if bare and all(likeness(bare, original) > each.likeness for each in found):
        return Rewritten(bare, ended)
    if not found:
        return None
    best = max(found, key=lambda each: each.likeness)  # the first of equals, which are in the order of trust
    if best.text == original:  # models show the text before and after
        others = [each for each in found if each.text != original and each.closed and _is_version(each, original)]
        best = max(others, key=lambda each: (each.by_rule, each.likeness), default=best)
    if best.closed:
        return Rewritten(best.text, ended or bool(asked) or len(_fences(best.text)) >= len(_fences(original)))
    return Rewritten(best.text, ended and ends_alike(best.text, original))


def _is_version(candidate: _Candidate, original: str) -> bool:
    return candidate.likeness >= _ALIKE or (candidate.likeness > 0 and ends_alike(candidate.text, original))


def ends_alike(one: str, other: str) -> bool:
    """Whether the last lines are the same, or one a change of the other."""
    final, wanted = _last_line(one), _last_line(other)
    return bool(final) and (final == wanted or _is_like(final, wanted))


def _as_asked(reply: str, original: str) -> list[_Candidate]:
    """The blocks that nothing in the original can end, where it has fences of its own."""
    fence = longer_than_any(original)
    if len(fence) == _SHORTEST:
        return []
    found = [block for block in blocks(reply) if block.fence >= fence and block.fence[0] == fence[0]]
    return [_Candidate(each.text, each.closed, likeness(each.text, original), True) for each in found]


def _candidates(reply: str, original: str) -> Iterator[_Candidate]:
    """Every block, and for the first ones every other place where it may end, in the order of trust."""
    original_left_open = _left_open(_fences(original))
    found = blocks(reply)
    for block in found:
        if block.closed and _left_open(_fences(block.text)) <= original_left_open:
            yield _Candidate(block.text, True, likeness(block.text, original), True)
    for block in found[:_MOST_OPENINGS]:
        lines = with_ends(reply[block.start :])
        opening = Fence(block.fence, block.language, len(lines[0]) - len(lines[0].lstrip()))
        fences = [(at, fence_of(line)) for at, line in enumerate(lines) if at]
        ends = [at for at, fence in fences if fence is not None and fence.closes(opening)]
        for end in ends[-_MOST_ENDS:]:
            text = "".join(without_indent(line, opening.column) for line in lines[1:end])
            if _left_open(_fences(text)) <= original_left_open:
                yield _Candidate(text, True, likeness(text, original), False)
    for block in found:
        if not block.closed:
            yield _Candidate(block.text, False, likeness(block.text, original), True)
    if found and found[0].closed:  # cut off behind an inner fence that looked like the end
        rest = "".join(with_ends(reply[found[0].start :])[1:])
        if _fences(original):
            yield _Candidate(rest, False, likeness(rest, original), False)


def _bare(reply: str, original: str) -> str:
    """The reply itself where it is a version of the original, without the prose around it."""
    lines = with_ends(reply.strip("\n") + "\n")
    first, final = _first_line(original), _last_line(original)
    if not first:
        return ""
    start = _place(lines[:_PROSE_LINES], first)
    behind = _place(lines[: -_PROSE_LINES - 1 : -1], final)
    opened = next((at for at, line in enumerate(lines) if fence_of(line) is not None), len(lines))
    if start is None or behind is None or start > opened:
        return ""
    text = "".join(lines[start : len(lines) - behind])
    return text if likeness(text, original) >= _ALIKE else ""


def _place(lines: Sequence[str], wanted: str) -> int | None:
    """Where the wanted line stands; else the first place where something like it does."""
    stripped = [line.strip() for line in lines]
    if wanted in stripped:
        return stripped.index(wanted)
    return next((at for at, line in enumerate(stripped) if _is_like(line, wanted)), None)


def _is_like(line: str, wanted: str) -> bool:
    """Whether two lines are nearly the same. Of lines of data, which may have no end, both ends are compared."""
    if 2 * min(len(line), len(wanted)) < _SAME_LINE * (len(line) + len(wanted)):
        return False
    return SequenceMatcher(None, _ends(line), _ends(wanted)).ratio() >= _SAME_LINE


def _ends(line: str) -> str:
    half = _LONGEST_LINE // 2
    return line if len(line) <= _LONGEST_LINE else line[:half] + line[-half:]


def _fences(text: str) -> list[Fence]:
    """The lines that could open or close a block around them."""
    if "```" not in text and "~~~" not in text:
        return []
    return [fence for line in with_ends(text) if (fence := fence_of(line)) is not None]


def _left_open(fences: Sequence[Fence]) -> bool:
    """Whether a block among these is still open at the end."""
    opened: Fence | None = None
    for fence in fences:
        if opened is None:
            opened = fence
        elif fence.closes(opened):
            opened = None
    return opened is not None


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")
