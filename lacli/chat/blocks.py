"""Code blocks of an answer, and the change to a file they stand for. Reads and writes nothing.

A block is chosen by its number as typed; the default is the last one that is code, as sample output often follows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lacli.chat.naming import file_of
from lacli.editing.applying import applied
from lacli.edits.write.diff import target_of, unified
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError
from lacli.events import Attachment
from lacli.sessions.records import Turn
from lacli.shared.wording import counted, parse_choice
from lacli.text.fences import Block, blocks

_PRINTED = ("", "text", "txt", "plaintext", "plain", "output", "console", "stdout", "log")
"""Languages of blocks that may be sample output."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change an answer makes to a file."""

    what: str
    """The part of the answer, in words."""
    data: bytes
    diff: str
    """Lines ended by \\n; empty if nothing changes."""
    remarks: tuple[str, ...]
    """Warnings to show before it is made."""


def turn_of(turns: Sequence[Turn], number: int | None = None) -> Turn:
    """A turn, counted from 0, by default the last one. Raises UsageError if there is none."""
    if not turns or (number is not None and number >= len(turns)):
        raise UsageError("there is no answer yet", "ask a question first")
    return turns[-1 if number is None else number]


def block_of(answer: str, number: str, hint: str = "") -> Block:
    """A code block of the answer. Raises UsageError, which says how many there are, for a wrong number."""
    found = blocks(answer)
    chosen = parse_choice(number, len(found))
    if chosen is None:
        have = counted(len(found), "code block", "code blocks")
        raise UsageError(f"there is no code block {number}: the answer has {have}", hint)
    return found[chosen - 1]


def named_block(answer: str, number: str, hint: str = "") -> tuple[str, str]:
    """The text of a code block as it is copied, and its name. Raises UsageError as `block_of`."""
    block = block_of(answer, number, hint)
    return block.text.rstrip("\n"), _name(blocks(answer), block)


def code_of(answer: str, number: str = "") -> tuple[str, str]:
    """The text of a code block and its name; the whole answer if it has no block and no number is given.

    Raises UsageError if the block does not exist or is not complete.
    """
    found = blocks(answer)
    if not number and not found:
        return answer + "\n", "the answer"
    block = _meant(answer, number)
    name = _name(found, block)
    if not block.closed:
        raise UsageError(f"{name} is not complete", "/retry, with a higher /set max-tokens")
    return block.text, name


def so_far(written: str) -> str:
    """The usable part of an unfinished answer: everything before a block that is still open."""
    return next((written[: each.start] for each in blocks(written) if not each.closed), written)


def new_file_of(answer: str, number: str = "") -> tuple[str, str]:
    """The content of a new file, and its name. Raises UsageError if the answer has no code block."""
    if not blocks(answer):
        raise UsageError("the answer has no code block", "ask for the whole file in one")
    return code_of(answer, number)


def file_made(path: str | Path, answer: str, number: str = "") -> Change:
    """The change that creates a file from a code block. Raises UsageError as `new_file_of`."""
    code, what = new_file_of(answer, number)
    data = code.encode("utf-8", "replace")
    diff = unified(b"", data, target_of(str(path))).decode("utf-8", "replace")
    return Change(what, data, diff, () if data else ("the file will be empty",))


def change_of(file: TextFile, turn: Turn, number: str = "") -> Change:
    """The change an answer makes to a file. Raises UsageError if it cannot be applied."""
    file.check_writable()
    said, asked = turn.answer.text, turn.question.text
    if number:
        code, what = code_of(said, number)
        result = applied(file, said, asked, code=code)
    else:
        result = applied(file, said, asked, ended=turn.reason == "stop")
        found = blocks(said)
        what = next((_name(found, each) for each in found if each.text == result.taken), "the answer")
    remarks = result.remarks(file.name)
    diff = result.diff.decode("utf-8", "replace")
    return Change(what, result.data, diff, tuple(remarks))


def file_meant(answer: str, attachments: Iterable[Attachment], number: str = "") -> str:
    """The file that a block is for if the user names none: the one the answer names, else the only attached one.

    Empty if there is neither. Raises UsageError if there is no such block.
    """
    labels = list(dict.fromkeys(each.label for each in attachments if each.label not in ("stdin", "pipe")))
    if blocks(answer):
        said = file_of(answer, _meant(answer, number), labels)
        if said:
            return said
    return labels[0] if len(labels) == 1 else ""


def unnamed(attachments: Iterable[Attachment]) -> UsageError:
    """The error to raise if it is not known which file is meant."""
    found = "several files are attached" if any(attachments) else "no file is attached"
    return UsageError(f"{found}, and the answer names none, so it is not known which is meant", "/apply PATH names one")


def _meant(answer: str, number: str) -> Block:
    """The block with this number, by default the last one that is code."""
    if number:
        return block_of(answer, number, f"a file of that name is ./{number}")
    found = blocks(answer)
    return next((each for each in reversed(found) if each.language.lower() not in _PRINTED), found[-1])


def _name(found: Sequence[Block], block: Block) -> str:
    of = f" of {len(found)}" if len(found) > 1 else ""
    return f"code block {found.index(block) + 1}{of}"
