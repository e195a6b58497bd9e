"""The question of `edit`: a file or a part of it, what is to become of it, and the form the answer is to have. Pure.

The part stands last before the words, so that the answer, most of which is the part again, is copied from near by.
"""

from __future__ import annotations

from collections.abc import Sequence

from lacli.events import Attachment, Message
from lacli.text.fences import longer_than_any

LINES_BEFORE, LINES_AFTER = 40, 20
"""Lines around a range that are shown with it, the nearest ones."""
_LETTERS = 4000
"""Most of them on either side: a line may be a whole file."""


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
    shown = [*others, *_context(label, around, lines), Attachment(name, part)]
    if part.strip():
        wanted = f"Return the whole of {name} with this change, nothing left out, in {_form(part)}."
    else:
        wanted = f"{name} is empty. Return the whole text that belongs there, in one code block."
        shown.pop()
    return Message("user", f"{instruction.strip()}\n\n{wanted}", attachments=tuple(shown))


def _form(part: str) -> str:
    """What the answer is put into: a fence longer than usual is named where the part has fences of its own."""
    fence = longer_than_any(part)
    return "one code block" if len(fence) == 3 else f"one code block that begins and ends with {fence}"


def _context(label: str, around: tuple[str, str], lines: tuple[int, int] | None) -> list[Attachment]:
    """The lines next to a range."""
    if lines is None:
        return []
    before = "".join(around[0].splitlines(keepends=True)[-LINES_BEFORE:])
    after = "".join(around[1].splitlines(keepends=True)[:LINES_AFTER])
    found = [
        Attachment(f"{label} before line {lines[0]}", before[-_LETTERS:]),
        Attachment(f"{label} after line {lines[1]}", after[:_LETTERS]),
    ]
    return [each for each in found if each.text.strip()]
