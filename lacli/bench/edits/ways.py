"""The two ways to have a file edited that the suite compares.

`edit_with` is `lacli edit FILE INSTRUCTION --in-place` without its printing; `plain_with` is what one would do without
it: ask for the whole file and take the code block, unchecked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from lacli.assistant.base import Replier
from lacli.editing.edit import Edit
from lacli.editing.question import Question
from lacli.editing.replies import joined
from lacli.editing.requests import Requests
from lacli.edits.write.textfile import TextFile
from lacli.errors import LacliError
from lacli.events import Attachment, Counts, Finished, Message, Request
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
    forms: tuple[str, ...] = ()
    """In which form each try was asked for."""


Way = Callable[[Replier, Path, str], Outcome]


def edit_with(assistant: Replier, path: Path, instruction: str) -> Outcome:
    """Change the file, or refuse to."""
    file = TextFile.read(path)
    edit = Edit(file, instruction, path.name)
    replies: list[Finished] = []
    outcome = edit.without_model()
    if outcome is None:
        asking = Requests(assistant, Request(max_tokens=1))
        edit = asking.fitted(edit)

        def ask(question: Question) -> Finished:
            replies.append(_reply(assistant, asking.of(edit, question)))
            return replies[-1]

        outcome = edit.run(ask)
    stats = joined(replies).stats if replies else Counts()
    if outcome.result.problems:
        return Outcome(1, len(replies), stats, outcome.result.problems[0].text)
    if outcome.result.diff:
        file.write(outcome.result.data)
    return Outcome(0, len(replies), stats, forms=tuple(each.form for each in outcome.tries))


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
    return _reply(assistant, request), preview.unseen


def _reply(assistant: Replier, request: Request) -> Finished:
    *_, last = assistant.reply(request)
    if not isinstance(last, Finished):
        raise LacliError("the reply has no end")
    return last
