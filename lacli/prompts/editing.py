"""The questions of `edit`: a part of a file, what is to become of it, and the form the answer is to have. Pure.

What stays the same for all parts and tries of one edit stands first, so that it is read once. The part stands last
before the words, as the answer, most of which is the part again, is copied from near by.
"""

from __future__ import annotations

from collections.abc import Sequence

from lacli.events import Attachment, Message
from lacli.text.fences import longer_than_any

LINES_BEFORE, LINES_AFTER = 40, 20
"""Lines around a range that are shown with it, the nearest ones."""
_LETTERS = 4000
"""Most of them on either side: a line may be a whole file."""
_SEARCH_FORM = """\
<<<<<<< SEARCH
the lines to be changed, exactly as they are in the file
=======
the lines that are to stand there instead
>>>>>>> REPLACE"""


def rewriting(
    name: str, part: str, instruction: str, *, context: Sequence[Attachment] = (), others: Sequence[Attachment] = ()
) -> Message:
    """Ask for `part`, called `name`, written again as `instruction` says.

    `context` is what stands around it, `others` content that the instruction is about.
    """
    if not part.strip():
        wanted = f"{name} is empty. Return the whole text that belongs there, in one code block."
        return Message("user", f"{instruction.strip()}\n\n{wanted}", attachments=(*others, *context))
    wanted = f"Rewrite {name} with this change. Return the complete new {name}, nothing left out, in {_form(part)}."
    shown = (*others, *context, Attachment(name, part))
    return Message("user", f"{instruction.strip()}\n\n{wanted}", attachments=shown)


def inserting(
    name: str, instruction: str, *, context: Sequence[Attachment] = (), others: Sequence[Attachment] = ()
) -> Message:
    """Ask for what `instruction` wants to have added to `name`, alone."""
    wanted = f"Return only what is to be added to {name}, complete, in one code block. Do not repeat what is there."
    return Message("user", f"{instruction.strip()}\n\n{wanted}", attachments=(*others, *context))


def searching(
    name: str, part: str, instruction: str, *, context: Sequence[Attachment] = (), others: Sequence[Attachment] = ()
) -> Message:
    """Ask for SEARCH/REPLACE blocks that change `part` as `instruction` says: for parts too long to be given again."""
    wanted = (
        f"Answer with the changes to {name} alone, each as a block of this form, and nothing else:\n\n{_SEARCH_FORM}"
    )
    shown = (*others, *context, Attachment(name, part))
    return Message("user", f"{instruction.strip()}\n\n{wanted}", attachments=shown)


def again(faults: Sequence[str], name: str, form: str) -> Message:
    """Ask once more, after an answer in which something is wrong."""
    listed = "\n".join(f"- {fault}" for fault in faults)
    wanted = {
        "rewrite": f"Return the whole of {name} again, with the change and without this, in one code block.",
        "insert": f"Return only what is to be added to {name} again, without this, in one code block.",
        "search": "Give the changes again, in the same form, without this.",
    }[form]
    return Message("user", f"That is not right yet:\n{listed}\n\n{wanted}")


def around(label: str, before: str, after: str, first: int, last: int) -> list[Attachment]:
    """The lines next to lines `first` to `last`, counted from 1."""
    near = "".join(before.splitlines(keepends=True)[-LINES_BEFORE:])
    far = "".join(after.splitlines(keepends=True)[:LINES_AFTER])
    found = [
        Attachment(f"{label} before line {first}", near[-_LETTERS:]),
        Attachment(f"{label} after line {last}", far[:_LETTERS]),
    ]
    return [each for each in found if each.text.strip()]


def _form(part: str) -> str:
    """What the answer is put into: a fence longer than usual is named where the part has fences of its own."""
    fence = longer_than_any(part)
    return "one code block" if len(fence) == 3 else f"one code block that begins and ends with {fence}"
