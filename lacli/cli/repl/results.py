"""The slash commands about the last answer: copy it, save it, put its code into a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.cli import diagnostics
from lacli.cli.confirm import confirm
from lacli.cli.repl.material import path_of
from lacli.errors import UsageError
from lacli.text.fences import Block, blocks
from lacli.wording import counted, number_of

if TYPE_CHECKING:
    from lacli.cli.repl.loop import Repl


def copy(repl: Repl, rest: str) -> None:
    """/copy [n]"""
    from lacli.clipboard import copied

    answer = _answer(repl)
    text = _block(answer, rest).text.rstrip("\n") if rest else answer
    takers = copied(text)
    if not takers:
        raise UsageError("there is no clipboard that can be reached", "install wl-copy or xclip, or /save it to a file")
    said = " and to ".join(takers)
    sure = "" if takers != ["the terminal"] else ", which may not allow it"
    diagnostics.note(f"{counted(len(text), 'character', 'characters')} given to {said}{sure}")


def save(repl: Repl, rest: str) -> None:
    """/save [PATH]"""
    from lacli.sessions.export import as_markdown, file_name, takes_chat

    path = Path(path_of(rest) if rest else file_name())
    if not repl.conversation.turns:
        raise UsageError("there is nothing to save yet", "ask a question first")
    if takes_chat(path):
        text, what = as_markdown(repl.conversation.system, repl.conversation.turns), "the chat"
    else:
        answer = _answer(repl)
        code = blocks(answer)
        text, what = (_whole(code[-1]).text, "the last code block") if code else (answer + "\n", "the last answer")
    if path.is_dir():
        raise UsageError(f"{path} is a folder", "give the name of a file in it")
    if _written(path, text):
        diagnostics.note(f"{what} is in {path}")


def apply(repl: Repl, rest: str) -> None:
    """/apply [PATH]"""
    from lacli.edits.apply import edited, span_of
    from lacli.edits.textfile import TextFile

    path = Path(path_of(rest)) if rest else _only_file(repl)
    answer = _answer(repl)
    if not path.exists():
        code = blocks(answer)
        if not code:
            raise UsageError("the last answer has no code block", "ask for the whole file in one")
        if _written(path, _whole(code[-1]).text):
            diagnostics.note(f"{path} was made")
        return
    turn = repl.conversation.turns[-1]
    file = TextFile.read(path)
    file.check_writable()
    result = edited(file, span_of(file), answer, turn.question.text, ended=turn.reason == "stop")
    remarks = result.remarks(path)
    if not result.diff:
        diagnostics.note(f"{path} has just this text already")
        return
    for line in result.diff.decode("utf-8", "replace").splitlines():
        diagnostics.plain_line(line)
    for text in remarks:
        diagnostics.note(text)
    if not confirm(f"change {path}?"):
        diagnostics.note("nothing was changed")
        return
    file.write(result.data)
    diagnostics.note(f"{path} was changed")


def _answer(repl: Repl) -> str:
    if not repl.conversation.turns:
        raise UsageError("there is no answer yet", "ask a question first")
    return repl.conversation.turns[-1].answer.text


def _block(answer: str, number: str) -> Block:
    found = blocks(answer)
    chosen = number_of(number, len(found))
    if chosen is None:
        have = counted(len(found), "code block", "code blocks")
        raise UsageError(f"there is no code block {number}: the last answer has {have}", "/copy takes all of it")
    return found[chosen - 1]


def _whole(block: Block) -> Block:
    if not block.closed:
        raise UsageError("the code block of the last answer is not complete", "/retry, with a higher /set max-tokens")
    return block


def _only_file(repl: Repl) -> Path:
    """The file that is meant where none is named: the one that was attached."""
    labels = {each.label for each in repl.conversation.attachments if os.path.isfile(each.label)}
    if len(labels) != 1:
        found = "no file is attached" if not labels else "several files are attached"
        raise UsageError(f"{found}, so it is not known which one is meant", "/apply PATH names one")
    return Path(labels.pop())


def _written(path: Path, text: str) -> bool:
    """Whether the text is in the file now; what is there already is replaced only if the user says so."""
    from lacli.edits import disk

    if os.path.lexists(path) and not confirm(f"{path} exists; overwrite it?"):
        diagnostics.note("nothing was written")
        return False
    disk.put(path, text.encode("utf-8", "replace"))
    return True
