"""Getting something out of a chat: copying an answer or a code block, saving it, applying it to a file.

Saving and applying first make a plan, which says what it is going to do; the front end asks its user and then calls
`write`. Plans read the disk. `turn` counts from 0; the default is the last answer, even if it is still being written.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from lacli.chat import blocks
from lacli.chat.blocks import Change
from lacli.chat.chat import ChatSession
from lacli.chat.targets import WriteTarget, file_typed, put, write_target
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from lacli.sessions.export import as_markdown, file_name, is_chat_file
from lacli.sessions.records import Turn
from lacli.shared.wording import counted

NOT_WRITTEN = "nothing was written"


@dataclass(frozen=True, slots=True)
class Part:
    """A text taken out of a chat."""

    text: str
    what: str
    """Its name; empty for a whole answer."""

    def copied(self, where: str) -> str:
        """The message after it was copied; `where` says to what."""
        said = f"{counted(len(self.text), 'character', 'characters')} copied {where}"
        return f"{self.what}: {said}" if self.what else said


@dataclass(frozen=True, slots=True)
class PathQuestion:
    """What to ask if a path is needed and none was given."""

    text: str
    likely: str
    """The default; may be empty."""
    hint: str = ""
    """What to do instead if nobody can be asked; empty: take the default."""


@dataclass(frozen=True, slots=True)
class PlannedText:
    """A text to be written to a file."""

    target: WriteTarget
    part: Part

    @property
    def question(self) -> str:
        """What to ask first; empty if nothing need be asked."""
        return self.target.question(self.part.what)

    def write(self) -> str:
        """Write it and return the message."""
        put(self.target, self.part.text.encode("utf-8", "replace"))
        return f"{self.part.what} is in {self.target.path}"


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change to be made to a file, after it was shown and confirmed."""

    target: WriteTarget
    file: TextFile
    """Its content now; empty for a new one."""
    change: Change
    so_far: str

    @property
    def nothing(self) -> str:
        """The message if it would change nothing, else empty."""
        return "" if self.change.diff or not self.target.exists else f"{self.target.path} has just this text already"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings to show with it."""
        return (*self.target.remarks, *self.change.remarks)

    @property
    def title(self) -> str:
        """A title for its diff."""
        return f"{self.what} → {self.target.path}" + ("" if self.target.exists else " (a new file)")

    @property
    def what(self) -> str:
        """The part of the answer, in words."""
        return self.change.what + self.so_far

    @property
    def question(self) -> str:
        """What to ask once it was shown."""
        return f"{self.what}: {'change' if self.target.exists else 'make'} {self.target}?"

    def write(self, data: bytes | None) -> str:
        """Write the file as the user wants it (None: leave it) and return the message."""
        if not self.target.exists:
            if data is None:
                return NOT_WRITTEN
            put(self.target, data)
            return f"{self.target.path} was made"
        if data is None or data == self.file.data:
            return "nothing was changed"
        self.file.write(data)
        return f"{self.target.path} was changed"


def part(chat: ChatSession, number: str = "", turn: int | None = None) -> Part:
    """A whole answer, or a code block of it, to be copied."""
    if number:
        said, so_far = _said(chat, turn)
        text, what = blocks.named_block(said.answer.text, number, "/copy takes all of it")
        return Part(text, what + so_far)
    unfinished = chat.unfinished if turn is None else None
    said = unfinished or blocks.turn_of(chat.conversation.turns, turn)
    return Part(said.answer.text, "the answer so far" if unfinished else "")


def where_to_save(chat: ChatSession, number: str = "", turn: int | None = None, code: bool = False) -> PathQuestion:
    """Ask where to save the chat; with a number, or `code`, a code block of the answer."""
    _check_said(chat)
    if not number and not code:
        return PathQuestion("save the chat to", file_name())
    said, so_far = _said(chat, turn)
    likely = blocks.file_meant(said.answer.text, (), number)
    what = blocks.code_of(said.answer.text, number)[1] + so_far
    return PathQuestion(f"save {what} to", likely, f"/save {number} PATH; a file of that name is ./{number}")


def where_to_apply(chat: ChatSession, number: str = "", turn: int | None = None) -> PathQuestion:
    """Ask which file to apply code of an answer to."""
    said, so_far = _said(chat, turn)
    what = blocks.new_file_of(said.answer.text, number)[1] + so_far
    likely = blocks.file_meant(said.answer.text, chat.conversation.attachments, number)
    return PathQuestion(f"apply {what} to", likely, "/apply PATH names one")


def plan_save(
    chat: ChatSession, typed: str, number: str = "", turn: int | None = None, code: bool = False
) -> PlannedText:
    """Save the chat to a file whose name is that of a text (.md), a code block to any other; with `code` always a
    block."""
    _check_said(chat)
    path = file_typed(typed)
    if is_chat_file(path) and not number and not code:
        what = "the chat before this question" if chat.unfinished is not None else "the chat"
        chosen = Part(as_markdown(chat.conversation.system, chat.conversation.turns), what)
    else:
        said, so_far = _said(chat, turn)
        text, what = blocks.code_of(said.answer.text, number)
        chosen = Part(text, what + so_far)
    return PlannedText(write_target(path, chat.folder), chosen)


def plan_change(chat: ChatSession, typed: str = "", number: str = "", turn: int | None = None) -> PlannedChange:
    """Apply code of an answer to a file, by default to the one it is likely meant for."""
    said, so_far = _said(chat, turn)
    attachments = chat.conversation.attachments
    path = file_typed(typed or blocks.file_meant(said.answer.text, attachments, number))
    if path == Path():
        raise blocks.unnamed(attachments)
    target = write_target(path, chat.folder)
    if target.exists:
        file = target.read()
        return PlannedChange(target, file, blocks.change_of(file, said, number), so_far)
    change = blocks.file_made(path, said.answer.text, number)
    return PlannedChange(target, TextFile.of_bytes(b"", str(path)), change, so_far)


def _check_said(chat: ChatSession) -> None:
    if not chat.conversation.turns and chat.unfinished is None:
        raise UsageError("there is nothing to save yet", "ask a question first")


def _said(chat: ChatSession, turn: int | None) -> tuple[Turn, str]:
    """The turn, and a suffix for the names of its parts: an unfinished one counts up to its last closed block."""
    written = chat.unfinished if turn is None else None
    if written is None:
        return blocks.turn_of(chat.conversation.turns, turn), ""
    answer = replace(written.answer, text=blocks.so_far(written.answer.text))
    return replace(written, answer=answer, reason="stop"), " so far"
