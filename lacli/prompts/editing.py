"""The question of `edit`: a file or a part of it, what is to become of it, and the form the answer is to have. Pure.

The part stands last before the words, so that the answer, most of which is the part again, is copied from near by.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lacli.events import Attachment, Message

LINES_BEFORE, LINES_AFTER = 40, 20
"""Lines around a range that are shown with it."""


def question(
    label: str,
    part: str,
    instruction: str,
    *,
    lines: tuple[int, int] | None = None,
    around: tuple[str, str] = ("", ""),
    others: Sequence[Attachment] = (),
) -> Message:
    """Ask for `part` of the file `label` rewritten as `instruction` says.

    `lines` are the first and last of a range, counted from 1, `around` the text before and after it; `others` is
    content that the instruction is about.
    """
    name = f"lines {lines[0]}-{lines[1]} of {label}" if lines else label
    if not part.strip():
        return Message("user", f"{_asked(instruction)}\n\n{_EMPTY.format(name=name)}", attachments=tuple(others))
    shown = [*others, *_context(label, around, lines), Attachment(name, part)]
    return Message("user", f"{_asked(instruction)}\n\n{_wanted(name, part)}", attachments=tuple(shown))


_EMPTY = "Write the whole text of {name}, which is empty now, in one code block."


def _asked(instruction: str) -> str:
    return instruction.strip()


def _wanted(name: str, part: str) -> str:
    """What the answer is to look like; a fence longer than usual is named where the part has fences of its own."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`{3,}", part)), 0)
    block = "one code block" if len(fence) == 3 else f"one code block that begins and ends with {fence}"
    return f"Return the whole of {name} with this change, nothing left out, in {block}."


def _context(label: str, around: tuple[str, str], lines: tuple[int, int] | None) -> list[Attachment]:
    """The lines next to a range."""
    if lines is None:
        return []
    before = around[0].split("\n")[-LINES_BEFORE - 1 :]
    after = around[1].split("\n")[:LINES_AFTER]
    found = [
        Attachment(f"{label} before line {lines[0]}", "\n".join(before)),
        Attachment(f"{label} after line {lines[1]}", "\n".join(after)),
    ]
    return [each for each in found if each.text.strip()]
