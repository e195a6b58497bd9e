"""The questions of an edit as requests, each with as many tokens for its answer as it needs. Prints nothing."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import PurePath

from lacli.assistant.base import Replier, Report, ignore
from lacli.editing.edit import Edit
from lacli.editing.question import Question
from lacli.errors import PromptTooLong
from lacli.events import Message, Preview, Request

_GROWTH, _MARGIN = 1.3, 256
"""A rewritten part may have so many times the tokens of the old one, and so many for what stands around it."""
_FOR_NEW = 1024
"""What is added to a file, or said to be changed in one, may have so many."""
_FOR_THOUGHT = 4096
"""A model that thinks before it answers may spend so many on that."""
_MOST = 1 << 20
"""Letters of a file that are looked through for those the model cannot see."""


class Requests:
    """Makes the requests of one edit for one model."""

    def __init__(self, assistant: Replier, base: Request, max_tokens: int | None = None) -> None:
        """`base` has the user's options and, at most, a system message; `max_tokens` where the user said how many."""
        self._assistant = assistant
        self._base = replace(base, max_tokens=1, may_be_refused=True)
        self._max_tokens = max_tokens
        self._sizes: dict[str, int] = {}

    def fitted(self, edit: Edit, report: Report = ignore) -> Edit:
        """The edit for what the model can see of the file; its questions are sure to fit.

        A model that is not there yet is fetched for its tokenizer. Raises PromptTooLong.
        """
        probe = replace(self._base, messages=(Message("user", edit.file.text[:_MOST] or " "),))
        try:
            unseen = self._assistant.preview(probe, report).unseen
        except PromptTooLong:
            unseen = ""
        fitted = edit.without(unseen)
        for question in fitted.questions():
            self.of(fitted, question)
        return fitted

    def of(self, edit: Edit, question: Question) -> Request:
        """The request for a question. Raises PromptTooLong where prompt and answer do not fit into the context."""
        request = question.of(self._base)
        name = edit.file.name
        try:
            needed = self._needed(question)
            preview = self._assistant.preview(request)
        except PromptTooLong as error:
            # of the reply one token was asked, to learn how long the prompt is
            numbers = error.message.replace(" + reply 1 ", " ")
            raise PromptTooLong(f"{name} is too long to be rewritten: {numbers}", _hint(edit)) from None
        if preview.thinks:  # it has to think before its answer begins
            request = replace(request, begun="")
        if self._max_tokens is not None:
            return replace(request, max_tokens=self._max_tokens)
        room = _room(preview)
        if room < needed:
            prompt = preview.size
            raise PromptTooLong(
                f"{name} is too long to be rewritten: prompt {prompt:,} + reply {needed:,} > context "
                f"{preview.ctx_size:,} tokens",
                _hint(edit),
            )
        wanted = int(needed * _GROWTH) + _MARGIN if needed else _FOR_NEW
        wanted += _FOR_THOUGHT if preview.thinks else 0
        return replace(request, max_tokens=min(wanted, room))

    def _needed(self, question: Question) -> int:
        """Tokens of the part that is to be given again."""
        if question.form != "rewrite" or not question.part.strip():
            return 0
        if question.part not in self._sizes:
            probe = replace(self._base, messages=(Message("user", question.part),))
            self._sizes[question.part] = self._assistant.preview(probe).size
        return self._sizes[question.part]


def _room(preview: Preview) -> int:
    """Tokens that an answer may have; of a context whose size nobody tells, as many as are wanted."""
    return preview.ctx_size - preview.size if preview.ctx_size else sys.maxsize


def _hint(edit: Edit) -> str:
    part = edit.picked.parts[0]
    if part.end - part.start <= 1:
        return "use a model with a longer context"
    whole = part.end - part.start >= edit.file.line_count
    name = PurePath(edit.file.name).name
    return f"give lines of it: {name}:A-B" if whole else "give fewer lines, or less beside them"
