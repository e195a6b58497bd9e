"""What is taken of an answer: one of its code blocks, or what it makes of a file. Reads and writes nothing.

A block is named as it is typed, by its number; without one it is the last. Called by the chat and the terminal UI.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from lacli.edits.apply import EditResult, edited, replaced, span_of
from lacli.edits.textfile import TextFile
from lacli.errors import UsageError
from lacli.events import Attachment
from lacli.sessions.records import Turn
from lacli.text.fences import Block, blocks
from lacli.wording import counted, number_of


def turn_of(turns: Sequence[Turn], number: int | None = None) -> Turn:
    """A turn, counted from 0; the last one without a number. Raises UsageError where it is not there."""
    if not turns or (number is not None and number >= len(turns)):
        raise UsageError("there is no answer yet", "ask a question first")
    return turns[-1 if number is None else number]


def block_of(answer: str, number: str, hint: str = "") -> Block:
    """A code block of the answer. Raises UsageError where there is none of this number, and says how many there are."""
    found = blocks(answer)
    chosen = number_of(number, len(found))
    if chosen is None:
        have = counted(len(found), "code block", "code blocks")
        raise UsageError(f"there is no code block {number}: the answer has {have}", hint)
    return found[chosen - 1]


def code_of(answer: str, number: str = "") -> tuple[str, str]:
    """The text of a code block and what it is called; without a number all of an answer that has none.

    Raises UsageError where it is not there, or not complete.
    """
    found = blocks(answer)
    if not number and not found:
        return answer + "\n", "the answer"
    block = block_of(answer, number, f"a file of that name is ./{number}") if number else found[-1]
    name = f"code block {found.index(block) + 1}"
    if not block.closed:
        raise UsageError(f"{name} is not complete", "/retry, with a higher /set max-tokens")
    return block.text, name


def new_file_of(answer: str, number: str = "") -> tuple[str, str]:
    """What a file that is not there yet is made of. Raises UsageError where the answer has no code block."""
    if not blocks(answer):
        raise UsageError("the answer has no code block", "ask for the whole file in one")
    return code_of(answer, number)


def change_of(file: TextFile, turn: Turn, number: str = "") -> EditResult:
    """What an answer makes of a file. Raises UsageError where that cannot be."""
    file.check_writable()
    said, asked = turn.answer.text, turn.question.text
    if number:
        return replaced(file, span_of(file), code_of(said, number)[0], asked)
    return edited(file, span_of(file), said, asked, ended=turn.reason == "stop")


def only_file(attachments: Iterable[Attachment]) -> str:
    """The file that is meant where none is named: the one that was attached. Raises UsageError."""
    labels = {each.label for each in attachments if os.path.isfile(each.label)}
    if len(labels) != 1:
        found = "no file is attached" if not labels else "several files are attached"
        raise UsageError(f"{found}, so it is not known which one is meant", "/apply PATH names one")
    return labels.pop()
