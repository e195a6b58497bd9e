"""The slash commands about the last answer: copy it, save it, put its code into a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.cli import diagnostics
from lacli.cli.confirm import confirm
from lacli.errors import UsageError
from lacli.text.slash import numbered, path_of
from lacli.wording import counted

if TYPE_CHECKING:
    from lacli.cli.repl.loop import Repl


def copy(repl: Repl, rest: str) -> None:
    """/copy [n]"""
    from lacli.clipboard import copied
    from lacli.verbs.answers import block_of, turn_of

    answer = turn_of(repl.conversation.turns).answer.text
    text = block_of(answer, rest, "/copy takes all of it").text.rstrip("\n") if rest else answer
    takers = copied(text)
    if not takers:
        raise UsageError("there is no clipboard that can be reached", "install wl-copy or xclip, or /save it to a file")
    said = " and to ".join(takers)
    sure = "" if takers != ["the terminal"] else ", which may not allow it"
    diagnostics.note(f"{counted(len(text), 'character', 'characters')} given to {said}{sure}")


def save(repl: Repl, rest: str) -> None:
    """/save [n] [PATH]"""
    from lacli.sessions.export import as_markdown, file_name, takes_chat
    from lacli.verbs.answers import code_of, turn_of

    number, rest = numbered(rest)
    turns = repl.conversation.turns
    if not turns:
        raise UsageError("there is nothing to save yet", "ask a question first")
    path = path_of(rest or file_name())
    if takes_chat(path) and not number:
        text, what = as_markdown(repl.conversation.system, turns), "the chat"
    else:
        text, what = code_of(turn_of(turns).answer.text, number)
    if number and not rest:
        raise UsageError(f"{what} needs a file", f"/save {number} PATH; a file of that name is ./{number}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder", "give the name of a file in it")
    if _written(path, text):
        diagnostics.note(f"{what} is in {path}")


def apply(repl: Repl, rest: str) -> None:
    """/apply [n] [PATH]"""
    from lacli.edits.textfile import TextFile
    from lacli.verbs.answers import change_of, new_file_of, only_file, turn_of

    number, rest = numbered(rest)
    turn = turn_of(repl.conversation.turns)
    path = path_of(rest or only_file(repl.conversation.attachments))
    if not path.exists():
        if _written(path, new_file_of(turn.answer.text, number)[0]):
            diagnostics.note(f"{path} was made")
        return
    file = TextFile.read(path)
    result = change_of(file, turn, number)
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


def _written(path: Path, text: str) -> bool:
    """Whether the text is in the file now; what is there already is replaced only if the user says so."""
    from lacli.edits import disk

    if os.path.lexists(path) and not confirm(f"{path} exists; overwrite it?"):
        diagnostics.note("nothing was written")
        return False
    disk.put(path, text.encode("utf-8", "replace"))
    return True
