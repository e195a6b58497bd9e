"""What `edit` is asked to do: the file, the lines, the question, and how many tokens the answer may take.

Everything that can be refused is refused here, before a model is loaded. Prints nothing itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from lacli.cli import diagnostics, live
from lacli.cli.options import Common
from lacli.cli.question import Question
from lacli.cli.stdin import Stdin, argument, named
from lacli.edits.apply import EditResult, Span, edited, part_of, span_of
from lacli.edits.diff import label_of
from lacli.edits.textfile import TextFile
from lacli.errors import PromptTooLong, UsageError
from lacli.events import Finished, Message, Preview, Request
from lacli.prompts import editing
from lacli.scripted import Replier
from lacli.wording import counted

_GROWTH, _MARGIN = 1.3, 256
"""A rewritten part may have so many times the tokens of the old one, and so many for what stands around it."""
_FOR_NEW = 2048
"""What is written into an empty file may have so many."""
_NO_INSTRUCTION = ("there is no instruction", "say behind the file what is to become of it, or pipe that in")


@dataclass(frozen=True, slots=True)
class Target:
    """A file and lines of it, as given."""

    path: str
    """- is stdin."""
    first: int | None = None
    """1-based; None is all of the file."""
    last: int | None = None
    """None is the file's last line."""


@dataclass(frozen=True, slots=True)
class Job:
    """A file to be edited, and the question for it."""

    file: TextFile
    span: Span
    question: Message
    instruction: str

    @property
    def part(self) -> str:
        """The lines to be rewritten."""
        return part_of(self.file, self.span)

    def request(self, common: Common) -> Request:
        """What is asked of the assistant; the reply ends with the rewritten part."""
        return replace(common.request((self.question,)), rewrites=self.part)

    def result(self, finished: Finished, unseen: str) -> EditResult:
        """What the reply makes of the file."""
        ended = finished.reason == "stop"
        return edited(self.file, self.span, finished.text, self.instruction, ended, unseen)


def parse_target(text: str) -> Target:
    """FILE, FILE:A, FILE:A-B or FILE:A-; a file that is really called so wins."""
    found = re.fullmatch(r"(.+):(\d+)(-?)(\d*)", text, re.DOTALL)
    if found is None or os.path.lexists(text) or (found[4] and not found[3]):
        return Target(text)
    first = int(found[2])
    return Target(found[1], first, int(found[4]) if found[4] else None if found[3] else first)


def read(target: Target, words: Sequence[str], files: Sequence[str], common: Common) -> Job:
    """The file with the question for it. Standard input is the file, else the instruction or content it is about."""
    if named(target.path) == "-":
        if not any(word.strip() for word in words):
            raise UsageError("there is no instruction", "say behind the - what is to become of stdin")
        asked = Question(words, replace(common, no_stdin=True), files).message()
        file = TextFile.of_bytes(Stdin().data(), "stdin")
    else:
        file = TextFile.read(target.path, streams_too=True)
        asked = Question(words, common, files).message(_NO_INSTRUCTION)
    if not asked.text.strip():
        raise UsageError(*_NO_INSTRUCTION)
    span = span_of(file, target.first, file.line_count if target.last is None else target.last)
    if file.odd:
        odd = counted(file.odd, "byte is", "bytes are")
        diagnostics.note(f"{file.name}: {odd} not {file.encoding}; lines that stay keep them")
    return Job(file, span, _question(file, span, asked), asked.text)


def _question(file: TextFile, span: Span, asked: Message) -> Message:
    label = argument(label_of(file.name))
    whole = span == Span(0, file.line_count)
    around = file.text[: file.starts[span.start]], file.text[file.starts[span.end] :]
    return editing.question(
        label,
        part_of(file, span),
        asked.text,
        lines=None if whole else (span.start + 1, span.end),
        around=around,
        others=asked.attachments,
    )


def budget(assistant: Replier, job: Job, common: Common) -> tuple[Common, Preview]:
    """The options with as many tokens as the answer needs, unless the user said how many; and the prompt.

    Raises PromptTooLong where the rewritten part would not fit into the context behind its prompt.
    """
    least = replace(common, max_tokens=1)
    try:
        with live.progress() as report:  # a model that is not there yet is fetched for its tokenizer
            part = assistant.preview(least.request((Message("user", job.part or " "),)), report)
            preview = assistant.preview(least.request((job.question,)), report)
    except PromptTooLong as error:
        # of the reply one token was asked, to learn how long the prompt is
        numbers = error.message.replace(" + reply 1 ", " ")
        raise PromptTooLong(f"{job.file.name} is too long to be rewritten: {numbers}", _hint(job)) from None
    needed, asked, room = len(part.token_ids), len(preview.token_ids), preview.ctx_size - len(preview.token_ids)
    if common.max_tokens is not None:
        return common, preview
    if room < needed:
        raise PromptTooLong(
            f"{job.file.name} is too long to be rewritten: prompt {asked:,} + reply {needed:,} > context "
            f"{preview.ctx_size:,} tokens",
            _hint(job),
        )
    wanted = int(needed * _GROWTH) + _MARGIN if job.part.strip() else _FOR_NEW
    return replace(common, max_tokens=min(wanted, room)), preview


def _hint(job: Job) -> str:
    if job.span.end - job.span.start <= 1:
        return "use a model with a longer context"
    whole = job.span == Span(0, job.file.line_count)
    return f"give lines of it: {PurePath(job.file.name).name}:A-B" if whole else "give fewer lines, or less beside them"
