"""What `edit` is asked to do: the file, the parts, the instruction, and how many tokens an answer may take.

Everything that can be refused is refused here, before a model is loaded. Prints nothing itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from lacli.cli import diagnostics, live
from lacli.cli.options import Common
from lacli.cli.question import Question as Asked
from lacli.cli.stdin import Stdin, argument
from lacli.edits.diff import label_of
from lacli.edits.textfile import TextFile
from lacli.errors import PromptTooLong, UsageError
from lacli.events import Message, Preview, Request
from lacli.scripted import Replier
from lacli.verbs.editing import Edit, Question, parts_of
from lacli.wording import counted

_GROWTH, _MARGIN = 1.3, 256
"""A rewritten part may have so many times the tokens of the old one, and so many for what stands around it."""
_FOR_NEW = 2048
"""What is written into an empty file, added to one, or said to be changed in one may have so many."""
_NO_INSTRUCTION = ("there is no instruction", "say behind the file what is to become of it, or pipe that in")
_RANGE = re.compile(r"(\d+)(?:(-)(\d*))?")
_NAME = re.compile(r"[^\s,:/\\]+(?:\.[^\s,:/\\]+)*")


@dataclass(frozen=True, slots=True)
class Target:
    """A file and parts of it, as given."""

    path: str
    """- is stdin."""
    ranges: tuple[tuple[int, int | None], ...] = ()
    """First and last lines, from 1; None is the file's last line."""
    names: tuple[str, ...] = ()
    """Definitions, such as Class.method."""


@dataclass(slots=True)
class Job:
    """A file to be edited."""

    edit: Edit
    asked: Message
    """The instruction as it was given, for the log."""
    common: Common
    unseen: str = ""
    """Characters that the model neither sees nor writes."""
    _sizes: dict[str, int] = field(default_factory=dict)

    @property
    def file(self) -> TextFile:
        """The file."""
        return self.edit.file

    def look(self, assistant: Replier) -> Preview:
        """Find out what of the file the model can see; the prompt of the first part.

        Raises PromptTooLong where the answer would not fit into the context behind a prompt.
        """
        with live.progress() as report:  # a model that is not there yet is fetched for its tokenizer
            probe = replace(self.common, max_tokens=1).request((Message("user", self.file.text[:_MOST] or " "),))
            try:
                self.unseen = assistant.preview(probe, report).unseen
            except PromptTooLong:
                self.unseen = ""
            if self.unseen:
                self.edit = replace_unseen(self.edit, self.unseen)
            previews = [self._preview(assistant, question)[1] for question in self.edit.questions()]
        return previews[0]

    def request(self, assistant: Replier, question: Question) -> Request:
        """A question with as many tokens for its answer as it needs, unless the user said how many."""
        return self._preview(assistant, question)[0]

    def _preview(self, assistant: Replier, question: Question) -> tuple[Request, Preview]:
        system = (Message("system", self.common.system),) if self.common.system else ()
        request = question.of(replace(self.common, max_tokens=1).request(system))
        try:
            needed = self._needed(assistant, question)
            preview = assistant.preview(request)
        except PromptTooLong as error:
            # of the reply one token was asked, to learn how long the prompt is
            numbers = error.message.replace(" + reply 1 ", " ")
            raise PromptTooLong(f"{self.file.name} is too long to be rewritten: {numbers}", self._hint()) from None
        if self.common.max_tokens is not None:
            return replace(request, max_tokens=self.common.max_tokens), preview
        room = preview.ctx_size - len(preview.token_ids)
        if room < needed:
            raise PromptTooLong(
                f"{self.file.name} is too long to be rewritten: prompt {len(preview.token_ids):,} + reply {needed:,} "
                f"> context {preview.ctx_size:,} tokens",
                self._hint(),
            )
        wanted = int(needed * _GROWTH) + _MARGIN if needed else _FOR_NEW
        return replace(request, max_tokens=min(wanted, room)), preview

    def _needed(self, assistant: Replier, question: Question) -> int:
        """Tokens of the part that is to be given again."""
        if question.form != "rewrite" or not question.part.strip():
            return 0
        if question.part not in self._sizes:
            request = replace(self.common, max_tokens=1).request((Message("user", question.part),))
            self._sizes[question.part] = len(assistant.preview(request).token_ids)
        return self._sizes[question.part]

    def _hint(self) -> str:
        part = self.edit.picked.parts[0]
        if part.end - part.start <= 1:
            return "use a model with a longer context"
        whole = part.end - part.start >= self.file.line_count
        name = PurePath(self.file.name).name
        return f"give lines of it: {name}:A-B" if whole else "give fewer lines, or less beside them"


_MOST = 1 << 20
"""Letters that are looked through for those the model cannot see."""


def replace_unseen(edit: Edit, unseen: str) -> Edit:
    """The same edit for a model that does not see these characters."""
    return Edit(edit.file, edit.instruction, edit.label, edit.parts, edit.others, unseen, edit.longest)


def parse_target(text: str) -> Target:
    """FILE, FILE:A, FILE:A-B, FILE:A-, several with commas, or FILE::NAME; a file that is really called so wins."""
    if os.path.lexists(text):
        return Target(text)
    path, colons, names = text.rpartition("::")
    if colons and path and all(map(_NAME.fullmatch, names.split(","))):
        return Target(path, (), tuple(names.split(",")))
    path, colon, ranges = text.rpartition(":")
    found = [_RANGE.fullmatch(each) for each in ranges.split(",")]
    if not colon or not path or not all(found):
        return Target(text)
    return Target(path, tuple(_range(each) for each in found if each is not None))


def _range(found: re.Match[str]) -> tuple[int, int | None]:
    first = int(found[1])
    return first, int(found[3]) if found[3] else None if found[2] else first


def read(target: Target, words: Sequence[str], files: Sequence[str], common: Common) -> Job:
    """The file with the instruction. Standard input is the file, else the instruction or content it is about."""
    if target.path == "-":
        if not any(word.strip() for word in words):
            raise UsageError("there is no instruction", "say behind the - what is to become of stdin")
        asked = Asked(words, replace(common, no_stdin=True), files).message()
        file = TextFile.of_bytes(Stdin().data(), "stdin")
    else:
        file = TextFile.read(target.path)
        asked = Asked(words, common, files).message(_NO_INSTRUCTION)
    if not asked.text.strip():
        raise UsageError(*_NO_INSTRUCTION)
    ranges = [(first, file.line_count if last is None else last) for first, last in target.ranges]
    parts = parts_of(file, ranges, target.names)
    if file.odd:
        odd = counted(file.odd, "byte is", "bytes are")
        diagnostics.note(f"{file.name}: {odd} not {file.encoding}; lines that stay keep them")
    label = argument(label_of(file.name))
    return Job(Edit(file, asked.text, label, parts, asked.attachments), asked, common)
