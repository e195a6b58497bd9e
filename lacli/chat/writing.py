"""Taking something out of a chat: an answer or a code block to be copied, a text or a change on its way to a file.

A plan says what it is going to do, and does it when it is told to: a front end asks its user in between. Plans look at
a disk. `turn` counts from 0 everywhere; the default is the answer that is last on the screen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from lacli.chat import blocks
from lacli.chat.blocks import Change
from lacli.chat.chat import ChatSession
from lacli.chat.targets import WriteTarget, file_typed, put, write_target
from lacli.edits.textfile import TextFile
from lacli.errors import UsageError
from lacli.sessions.export import as_markdown, file_name, takes_chat
from lacli.sessions.records import Turn
from lacli.shared.wording import counted

NOT_WRITTEN = "nothing was written"


@dataclass(frozen=True, slots=True)
class Part:
    """Something of a chat."""

    text: str
    what: str
    """What it is; empty for all of an answer."""

    def copied(self, where: str) -> str:
        """What to say once it was given to the clipboard; `where`: to whom."""
        said = f"{counted(len(self.text), 'character', 'characters')} copied {where}"
        return f"{self.what}: {said}" if self.what else said


@dataclass(frozen=True, slots=True)
class PathQuestion:
    """What to ask where a path is needed and none was given."""

    text: str
    likely: str
    """The path that is offered; may be empty."""
    hint: str = ""
    """What to do where nobody can be asked; empty: take the likely one."""


@dataclass(frozen=True, slots=True)
class PlannedText:
    """A text on its way to a file."""

    target: WriteTarget
    part: Part

    @property
    def question(self) -> str:
        """What must be asked first; empty where nothing need be."""
        return self.target.question(self.part.what)

    def write(self) -> str:
        """Put it there, and say so."""
        put(self.target, self.part.text.encode("utf-8", "replace"))
        return f"{self.part.what} is in {self.target.path}"


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change on its way to a file, to be shown and asked about first."""

    target: WriteTarget
    file: TextFile
    """As it is; empty where there is none yet."""
    change: Change
    so_far: str

    @property
    def nothing(self) -> str:
        """What to say where it would change nothing; else empty."""
        return "" if self.change.diff or not self.target.exists else f"{self.target.path} has just this text already"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be known of it: each speaks against it."""
        return (*self.target.remarks, *self.change.remarks)

    @property
    def title(self) -> str:
        """What goes where."""
        return f"{self.what} → {self.target.path}" + ("" if self.target.exists else " (a new file)")

    @property
    def what(self) -> str:
        """What of the answer it is."""
        return self.change.what + self.so_far

    @property
    def question(self) -> str:
        """What is asked once it was shown."""
        return f"{self.what}: {'change' if self.target.exists else 'make'} {self.target}?"

    def write(self, data: bytes | None) -> str:
        """Make the change, or what the user wants of it (None: nothing), and say what was done."""
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
    """All of an answer, or a code block of it, to be copied."""
    if number:
        said, so_far = _said(chat, turn)
        text, what = blocks.named_block(said.answer.text, number, "/copy takes all of it")
        return Part(text, what + so_far)
    unfinished = chat.unfinished if turn is None else None
    said = unfinished or blocks.turn_of(chat.conversation.turns, turn)
    return Part(said.answer.text, "the answer so far" if unfinished else "")


def where_to_save(chat: ChatSession, number: str = "", turn: int | None = None, code: bool = False) -> PathQuestion:
    """Where the chat is to be saved; with a number, or `code`, a block of the answer."""
    _check_said(chat)
    if not number and not code:
        return PathQuestion("save the chat to", file_name())
    said, so_far = _said(chat, turn)
    likely = blocks.file_meant(said.answer.text, (), number)
    what = blocks.code_of(said.answer.text, number)[1] + so_far
    return PathQuestion(f"save {what} to", likely, f"/save {number} PATH; a file of that name is ./{number}")


def where_to_apply(chat: ChatSession, number: str = "", turn: int | None = None) -> PathQuestion:
    """Which file code of an answer is to go into."""
    said, so_far = _said(chat, turn)
    what = blocks.new_file_of(said.answer.text, number)[1] + so_far
    likely = blocks.file_meant(said.answer.text, chat.conversation.attachments, number)
    return PathQuestion(f"apply {what} to", likely, "/apply PATH names one")


def plan_save(
    chat: ChatSession, typed: str, number: str = "", turn: int | None = None, code: bool = False
) -> PlannedText:
    """Put the chat into a file whose name is one for texts (.md), a code block of an answer into any other; `code`: a
    block in any case."""
    _check_said(chat)
    path = file_typed(typed)
    if takes_chat(path) and not number and not code:
        what = "the chat before this question" if chat.unfinished is not None else "the chat"
        chosen = Part(as_markdown(chat.conversation.system, chat.conversation.turns), what)
    else:
        said, so_far = _said(chat, turn)
        text, what = blocks.code_of(said.answer.text, number)
        chosen = Part(text, what + so_far)
    return PlannedText(write_target(path, chat.folder), chosen)


def plan_change(chat: ChatSession, typed: str = "", number: str = "", turn: int | None = None) -> PlannedChange:
    """Put code of an answer into a file; where no path is given, into the one that it is likely meant for."""
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
    """The turn, and what is said of its parts: one still being written is taken as far as its blocks are closed."""
    written = chat.unfinished if turn is None else None
    if written is None:
        return blocks.turn_of(chat.conversation.turns, turn), ""
    answer = replace(written.answer, text=blocks.so_far(written.answer.text))
    return replace(written, answer=answer, reason="stop"), " so far"
