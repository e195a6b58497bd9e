"""Changes of files: by an instruction (/edit) or by what the answer holds (/apply). Shown as a diff, made if allowed.

A file is changed only as it was when it was shown: one that the editor has not saved, or that was changed meanwhile, is
left alone.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lacli.assistant.cancel import CancelToken
from lacli.chat import blocks as answer_blocks
from lacli.chat import writing
from lacli.chat.slash import numbered, path_of
from lacli.editing.edit import Edit, Interrupted
from lacli.editing.edit import Outcome as EditOutcome
from lacli.editing.question import Question
from lacli.editing.replies import given_up, joined
from lacli.editing.requests import Requests
from lacli.editing.target import parse_target
from lacli.edits.write.textfile import TextFile
from lacli.errors import LacliError, UsageError
from lacli.events import Attachment, Finished, Message
from lacli.models.registry.registry import load_registry
from lacli.prompts.instructions import framed
from lacli.prompts.instructions import joined as told
from lacli.server.acp import blocks
from lacli.server.acp.base import Conversation, End
from lacli.sessions.recorder import Recorder

_GIVEN = re.compile(r"""(?:"(?P<quoted>[^"]+)")?(?P<rest>\S*)\s+(?P<what>\S.*)""", re.DOTALL)
_USE = "/edit FILE WHAT, FILE:A-B WHAT or FILE::NAME WHAT"


@dataclass(frozen=True, slots=True)
class _Change:
    """What is to become of a file."""

    path: Path
    file: TextFile
    """As it is on disk; empty for a new one."""
    exists: bool
    data: bytes
    remarks: tuple[str, ...] = ()


def apply(here: Conversation, rest: str, cancel: CancelToken) -> End:
    """/apply [n] [PATH]"""
    number, typed = numbered(rest)
    chat = here.chat
    said = answer_blocks.turn_of(chat.conversation.turns)
    attachments = chat.conversation.attachments
    meant = str(path_of(typed)) if typed else answer_blocks.file_meant(said.answer.text, attachments, number)
    if not meant:
        raise answer_blocks.unnamed(attachments)
    path = blocks.inside(here.folder, meant)
    planned = writing.plan_change(chat, str(path), number)
    if planned.nothing:
        here.editor.say(planned.nothing)
        return End()
    change = _Change(path, planned.file, planned.target.exists, planned.change.data, planned.remarks)
    name = blocks.name_of(path, here.folder)
    edit = _begun(here, f"{planned.what} → {name}", path)
    return _asked(here, change, edit, lambda: planned.write(change.data), cancel)


def edit(here: Conversation, rest: str, files: Sequence[Attachment], cancel: CancelToken) -> End:
    """/edit FILE[:A-B|::NAME] WHAT"""
    given = _GIVEN.fullmatch(rest)
    if given is None:
        raise UsageError("/edit needs a file and an instruction", _USE)
    typed = (given["quoted"] or "") + given["rest"]
    target = parse_target(str(here.folder / path_of(typed)))
    path = blocks.inside(here.folder, target.path)
    name = blocks.name_of(path, here.folder)
    file = TextFile.read(path)
    file.check_writable()
    _check_saved(here, path, file)
    others = tuple(each for each in files if each.label != name)
    longest = load_registry().resolve(here.chat.settings.model).edit_lines
    job = Edit(file, given["what"].strip(), name, target.parts(file), others, (), longest)
    number = _begun(here, f"Edit {name}", path)
    try:
        outcome, end = _worked_out(here, job, cancel)
    except Interrupted as interrupted:
        here.editor.end_edit(number, False)
        return End.of(interrupted.finished)
    except BaseException:
        here.editor.end_edit(number, False)
        raise
    result = outcome.result
    if result.problems:
        why = f"{result.problems[0].text}; {name} is as it was"
        here.editor.end_edit(number, False, why)
        raise LacliError(why, "say it differently, or name the part: FILE::NAME, FILE:A-B")
    if not result.diff:
        here.editor.end_edit(number, True, "nothing changed")
        here.editor.say(f"{name}: nothing changed")
        return end
    change = _Change(path, file, True, result.data, result.notes)

    def write() -> str:
        file.write(result.data)
        return f"{name} was changed"

    asked = _asked(here, change, number, write, cancel)
    return replace(end, reason=asked.reason)


def _worked_out(here: Conversation, job: Edit, cancel: CancelToken) -> tuple[EditOutcome, End]:
    """What an edit comes to, and how its last reply ended. Raises Interrupted."""
    certain = job.without_model()
    if certain is not None:
        return certain, End()
    chat, start = here.chat, here.start
    system = told(chat.conversation.system, framed(chat.instructions))
    base = replace(chat.request, messages=(Message("system", system),) if system else ())
    asking = Requests(here.engine_until(cancel), base)
    fitted = asking.fitted(job, here.show_progress)
    recorder = Recorder("edit", start.notify, start.keep, chat.conversation.system, here.folder)
    asked: list[Message] = []
    replies: list[Finished] = []

    def ask(question: Question) -> Finished:
        asked.append(question.messages[-1] if asked else Message("user", f"{job.label}: {job.instruction}"))
        replies.append(here.finished(asking.of(fitted, question), cancel))
        return replies[-1]

    used: list[Finished] = []
    try:
        outcome = fitted.run(ask)
        used = outcome.replies()
    finally:
        used = used or [given_up(each) for each in replies]
        for words, finished in zip(asked, used, strict=False):  # one more was asked where no reply came
            recorder.turn(words, finished)
    whole = joined(used)
    here.editor.report_usage(whole.stats)
    return outcome, replace(End.of(whole), reason="stop")


def _asked(here: Conversation, change: _Change, number: str, write: Callable[[], str], cancel: CancelToken) -> End:
    """Show a change, ask whether it may be made, and make it."""
    file, path = change.file, str(change.path)
    old = file.text if change.exists else None
    try:
        _check_saved(here, change.path, file if change.exists else None)
        answer = here.editor.allows(number, path, old, file.reads(change.data), change.remarks, cancel)
        if answer != "allowed":
            here.editor.end_edit(number, False)
            if answer == "cancelled":
                return End("cancelled")
            here.editor.say(f"{blocks.name_of(change.path, here.folder)} is left as it is")
            return End()
        _check_saved(here, change.path, file if change.exists else None)
        if here.editor.writes_files and _is_plain(file):
            _check_same(change)
            here.editor.write(path, change.data.decode())
            said = f"{blocks.name_of(change.path, here.folder)} was {'changed' if change.exists else 'made'}"
        else:
            said = write()
    except BaseException:
        here.editor.end_edit(number, False)
        raise
    here.editor.end_edit(number, True)
    here.editor.say(said)
    return End()


def _begun(here: Conversation, title: str, path: Path) -> str:
    """Tell the editor of an edit that is worked out; returns its number."""
    here.edits += 1
    number = f"edit-{here.edits}"
    here.editor.begin_edit(number, title, str(path))
    return number


def _check_saved(here: Conversation, path: Path, file: TextFile | None) -> None:
    """Raise UsageError where the editor has the file otherwise than it is on disk."""
    unsaved = here.editor.unsaved(str(path)) if file is not None else None
    if file is not None and unsaved is not None and unsaved.replace("\r\n", "\n") != file.text:
        name = blocks.name_of(path, here.folder)
        raise UsageError(f"{name} has changes in the editor that are not saved", "save it, and ask again")


def _check_same(change: _Change) -> None:
    """Raise LacliError where the file on disk is not the one that was shown."""
    exists = change.path.exists()
    if exists != change.exists or (exists and change.path.read_bytes() != change.file.data):
        raise LacliError(f"{change.path} was changed meanwhile and is left as it is", "do it again")


def _is_plain(file: TextFile) -> bool:
    """Whether an editor can be trusted to write the very bytes: a file of UTF-8 and nothing else."""
    return file.encoding == "utf-8" and not file.odd and not file.data.startswith(codecs.BOM_UTF8)
