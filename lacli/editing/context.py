"""What of a file is shown to the model beside the part that it is asked for. Pure."""

from __future__ import annotations

from lacli.editing.question import Form
from lacli.edits.find.find import Part, Picked
from lacli.edits.tree.outline import Outline
from lacli.edits.tree.sketch import sketch
from lacli.events import Attachment
from lacli.prompts import editing

_SECTION_LINES = 30
"""Lines of the section behind which another is to stand up to which it is shown."""
_CONTAINER_LINES = 80
"""Lines of what something is added to up to which it is shown whole."""


def context_of(
    part: Part, text: str, form: Form, before: str, outline: Outline | None, picked: Picked, label: str
) -> list[Attachment]:
    """`text` is the file as it is by now; `before` and `outline` as it was, or None where only lines can be shown."""
    if part.kind == "file" and form != "insert":
        return []
    lines = text.split("\n")
    if outline is None:
        above, below = "\n".join(lines[: part.start]), "\n".join(lines[part.end :])
        return editing.around(label, above + "\n" * bool(above), below, part.start + 1, part.end)
    spans = [(each.start, each.end) for each in (*picked.parts, *picked.beside)]
    if form != "insert":
        shown = sketch(before, outline, spans)
        return [Attachment(f"{label} in outline", shown)] if shown.strip() else []
    into = picked.into
    after = picked.after
    if outline.language == "markdown" and after is not None and after.end - after.start <= _SECTION_LINES:
        # prose in outline has nothing to go by, and models write the dots of an outline, too
        return [Attachment(after.label, "\n".join(before.split("\n")[after.start : after.end]) + "\n")]
    users = [Attachment(each.label, lines_of(before.split("\n"), each)) for each in picked.beside]
    if into is None or part.end - part.start > _CONTAINER_LINES:
        return [Attachment(f"{label} in outline", sketch(before, outline, [], into)), *users]
    return [
        Attachment(f"{label} in outline", sketch(before, outline, spans)),
        Attachment(part.label, lines_of(lines, part)),
        *users,
    ]


def lines_of(lines: list[str], part: Part) -> str:
    """The text of a part."""
    taken = lines[part.start : part.end]
    text = "\n".join(taken)
    return text + "\n" if part.end < len(lines) else text
