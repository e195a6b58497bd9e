"""What `edit` is asked to do: the file, the parts, the instruction.

Everything that can be refused is refused here, before a model is loaded. Prints nothing itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lacli.assistant.base import Replier
from lacli.cli.ask.prompt_input import Question as Asked
from lacli.cli.framework.options import Common
from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.stdin import Stdin, argument, named
from lacli.editing.edit import Edit
from lacli.editing.requests import Requests
from lacli.editing.source import parts_of
from lacli.edits.write.diff import label_of
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from lacli.events import Message
from lacli.models.registry.registry import load_registry
from lacli.shared.wording import counted

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


@dataclass(frozen=True, slots=True)
class Job:
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
    if named(target.path) == "-":
        if not any(word.strip() for word in words):
            raise UsageError("there is no instruction", "say behind the - what is to become of stdin")
        asked = Asked(words, replace(common, no_stdin=True), files).message()
        file = TextFile.of_bytes(Stdin().data(), "stdin")
    else:
        file = TextFile.read(target.path, streams_too=True)
        asked = Asked(words, common, files).message(_NO_INSTRUCTION)
    if not asked.text.strip():
        raise UsageError(*_NO_INSTRUCTION)
    ranges = [(first, file.line_count if last is None else last) for first, last in target.ranges]
    parts = parts_of(file, ranges, target.names)
    if file.odd:
        odd = counted(file.odd, "byte is", "bytes are")
        diagnostics.note(f"{file.name}: {odd} not {file.encoding}; lines that stay keep them")
    label = argument(label_of(file.name))
    longest = load_registry().resolve(common.model).edit_lines
    return Job(Edit(file, asked.text, label, parts, asked.attachments, (), longest), asked)
