"""An edit job: the file, the parts, the instruction.

All input is checked here, before a model is loaded. Prints nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lacli.assistant.base import Replier
from lacli.cli.ask.prompt_input import PromptInput
from lacli.cli.framework.instructions import project_instructions
from lacli.cli.framework.options import Common
from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.interrupt import WaitingInterrupt
from lacli.cli.terminal.stdin import Stdin, argument_text, dash_for_stdin
from lacli.configuration.remotes import is_remote
from lacli.editing.edit import Edit
from lacli.editing.requests import Requests
from lacli.editing.target import EditTarget
from lacli.edits.write.diff import label_of
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from lacli.events import Message
from lacli.models.registry.registry import load_registry
from lacli.models.spec import EDIT_LINES
from lacli.prompts.instructions import framed, joined
from lacli.shared.wording import counted

_NO_INSTRUCTION = ("there is no instruction", "say after the file what should become of it, or pipe that in")


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
    told = joined(common.system or "", framed(project_instructions(common)))
    system = (Message("system", told),) if told else ()
    return Requests(assistant, replace(common, max_tokens=1).request(system), common.max_tokens)


def read(target: EditTarget, words: Sequence[str], files: Sequence[str], common: Common) -> EditJob:
    """The file with the instruction. Standard input is the file, else the instruction or content it is about."""
    if dash_for_stdin(target.path) == "-":
        if not any(word.strip() for word in words):
            raise UsageError("there is no instruction", "say after the - what should become of stdin")
        asked = PromptInput(words, replace(common, no_stdin=True), files).message()
        file = TextFile.of_bytes(Stdin().data(), "stdin")
    else:
        with WaitingInterrupt(f"before {target.path} was read"):
            file = TextFile.read(target.path, streams_too=True)
        asked = PromptInput(words, common, files).message(_NO_INSTRUCTION)
    if not asked.text.strip():
        raise UsageError(*_NO_INSTRUCTION)
    parts = target.parts(file)
    if file.odd:
        odd = counted(file.odd, "byte is", "bytes are")
        diagnostics.note(f"{file.name}: {odd} not {file.encoding}; lines that stay keep them")
    label = argument_text(label_of(file.name))
    longest = EDIT_LINES if is_remote(common.model) else load_registry().resolve(common.model).edit_lines
    return EditJob(Edit(file, asked.text, label, parts, asked.attachments, (), longest), asked)
