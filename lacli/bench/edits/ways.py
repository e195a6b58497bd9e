"""The two ways to have a file edited that the suite compares. Called by `run`, with an assistant that is loaded.

`edit_with` is `lacli edit FILE INSTRUCTION --in-place` without its printing; `plain_with` is what one would do without
it: ask for the whole file and take the code block, unchecked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from lacli.edits.apply import edited, part_of, span_of
from lacli.edits.textfile import TextFile
from lacli.errors import LacliError
from lacli.events import Attachment, Counts, Finished, Message, Request
from lacli.prompts import editing
from lacli.scripted import Replier
from lacli.text.fences import blocks
from lacli.text.lines import likeness

_GROWTH, _MARGIN = 1.3, 256
"""A rewritten file may have so many times the tokens of the old one, and so many besides."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an edit took."""

    code: int
    """What the command would have ended with."""
    tries: int
    """Replies asked for."""
    stats: Counts
    """Of all of them together."""
    problem: str = ""
    """What would have been said where it was refused."""


Way = Callable[[Replier, Path, str], Outcome]


def edit_with(assistant: Replier, path: Path, instruction: str) -> Outcome:
    """Change the file, or refuse to."""
    file = TextFile.read(path)
    span = span_of(file)
    part = part_of(file, span)
    question = editing.question(path.name, part, instruction)
    finished, unseen = _asked(assistant, question, part, part)
    result = edited(file, span, finished.text, instruction, finished.reason == "stop", unseen)
    if result.problems:
        return Outcome(1, 1, finished.stats, result.problems[0].text)
    file.write(result.data)
    return Outcome(0, 1, finished.stats)


def plain_with(assistant: Replier, path: Path, instruction: str) -> Outcome:
    """Write what the reply's code block says, whatever that is; without a block the file stays."""
    text = path.read_text(encoding="utf-8")
    words = f"{instruction}\n\nReturn the whole file with this change in one code block."
    finished, _ = _asked(assistant, Message("user", words, attachments=(Attachment(path.name, text),)), text)
    found = blocks(finished.text)
    if found:
        likest = max(found, key=lambda block: likeness(block.text, text))
        path.write_text(likest.text, encoding="utf-8", newline="")
    return Outcome(0, 1, finished.stats)


WAYS: dict[str, Way] = {"lacli": edit_with, "plain": plain_with}


def _asked(assistant: Replier, question: Message, text: str, rewrites: str = "") -> tuple[Finished, str]:
    """The reply to a question about a text that it is to give again, and the characters the model cannot see.

    Raises PromptTooLong where both do not fit into the context.
    """
    needed = len(assistant.preview(Request((Message("user", text),), max_tokens=1)).token_ids)
    request = Request((question,), max_tokens=1, rewrites=rewrites)
    preview = assistant.preview(request)
    room = preview.ctx_size - len(preview.token_ids)
    request = replace(request, max_tokens=min(room, int(needed * _GROWTH) + _MARGIN))
    finished = None
    for event in assistant.reply(request):
        finished = event
    if not isinstance(finished, Finished):
        raise LacliError("the reply has no end")
    return finished, preview.unseen
