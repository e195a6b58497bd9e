"""An edit job: the file, the parts, the instruction.

All input is checked here, before a model is loaded. Prints nothing itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lacli.assistant.base import Replier
from lacli.cli.ask.prompt_input import PromptInput
from lacli.cli.framework.options import Common
from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.stdin import Stdin, argument_text, dash_for_stdin
from lacli.editing.edit import Edit
from lacli.editing.requests import Requests
from lacli.editing.source import parts_of
from lacli.edits.write.diff import label_of
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from lacli.events import Message
from lacli.models.registry.registry import load_registry
from lacli.shared.wording import counted

_NO_INSTRUCTION = ("there is no instruction", "say after the file what should become of it, or pipe that in")
_RANGE = re.compile(r"(\d+)(?:(-)(\d*))?")
_NAME = re.compile(r"[^\s,:/\\]+(?:\.[^\s,:/\\]+)*")


@dataclass(frozen=True, slots=True)
class EditTarget:
    """A file and parts of it, as given."""

    path: str
    """- is stdin."""
    ranges: tuple[tuple[int, int | None], ...] = ()
    """First and last lines, from 1; None is the file's last line."""
    names: tuple[str, ...] = ()
    """Definitions, such as Class.method."""


@dataclass(frozen=True, slots=True)
class EditJob:
    """A file to be edited."""

    edit: Edit
    asked: Message
    """The instruction as it was given, for the log."""

    @property
    def file(self) -> TextFile:
        """The file."""
        return self.edit.file


def requests(assistant: Replier, common: Common) -> Requests:
    """What makes the requests of an edit with the user's options."""
    system = (Message("system", common.system),) if common.system else ()
    return Requests(assistant, replace(common, max_tokens=1).request(system), common.max_tokens)


def parse_target(text: str) -> EditTarget:
    """FILE, FILE:A, FILE:A-B, FILE:A-, several with commas, or FILE::NAME; a file that is really called so wins."""
    if os.path.lexists(text):
        return EditTarget(text)
    path, colons, names = text.rpartition("::")
    if colons and path and all(map(_NAME.fullmatch, names.split(","))):
        return EditTarget(path, (), tuple(names.split(",")))
    path, colon, ranges = text.rpartition(":")
    found = [_RANGE.fullmatch(each) for each in ranges.split(",")]
    if not colon or not path or not all(found):
        return EditTarget(text)
    return EditTarget(path, tuple(_range(each) for each in found if each is not None))


def _range(found: re.Match[str]) -> tuple[int, int | None]:
    first = int(found[1])
    return first, int(found[3]) if found[3] else None if found[2] else first


def read(target: EditTarget, words: Sequence[str], files: Sequence[str], common: Common) -> EditJob:
    """The file with the instruction. Standard input is the file, else the instruction or content it is about."""
    if dash_for_stdin(target.path) == "-":
        if not any(word.strip() for word in words):
            raise UsageError("there is no instruction", "say after the - what should become of stdin")
        asked = PromptInput(words, replace(common, no_stdin=True), files).message()
        file = TextFile.of_bytes(Stdin().data(), "stdin")
    else:
        file = TextFile.read(target.path, streams_too=True)
        asked = PromptInput(words, common, files).message(_NO_INSTRUCTION)
    if not asked.text.strip():
        raise UsageError(*_NO_INSTRUCTION)
    ranges = [(first, file.line_count if last is None else last) for first, last in target.ranges]
    parts = parts_of(file, ranges, target.names)
    if file.odd:
        odd = counted(file.odd, "byte is", "bytes are")
        diagnostics.note(f"{file.name}: {odd} not {file.encoding}; lines that stay keep them")
    label = argument_text(label_of(file.name))
    longest = load_registry().resolve(common.model).edit_lines
    return EditJob(Edit(file, asked.text, label, parts, asked.attachments, (), longest), asked)
