"""The slash commands about the last answer: copy it, save it, put its code into a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lacli.chat.slash import numbered
from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.confirm import answered, confirm, one_of
from lacli.errors import UsageError
from lacli.shared.wording import counted

if TYPE_CHECKING:
    from lacli.chat.blocks import Change
    from lacli.chat.targets import Place
    from lacli.cli.chat.loop import Repl
    from lacli.edits.write.textfile import TextFile


def copy(repl: Repl, rest: str) -> None:
    """/copy [n]"""
    from lacli.chat.blocks import named_block, turn_of
    from lacli.shared.clipboard import copied

    answer = turn_of(repl.conversation.turns).answer.text
    text = named_block(answer, rest, "/copy takes all of it")[0] if rest else answer
    takers = copied(text)
    if not takers:
        raise UsageError("there is no clipboard that can be reached", "install wl-copy or xclip, or /save it to a file")
    said = " and to ".join(takers)
    sure = "" if takers != ["the terminal"] else ", which may not allow it"
    diagnostics.note(f"{counted(len(text), 'character', 'characters')} given to {said}{sure}")


def save(repl: Repl, rest: str) -> None:
    """/save [n] [PATH]"""
    from lacli.chat.blocks import code_of, file_meant, turn_of
    from lacli.chat.targets import file_typed
    from lacli.sessions.export import as_markdown, file_name, takes_chat

    number, rest = numbered(rest)
    turns = repl.conversation.turns
    if not turns:
        raise UsageError("there is nothing to save yet", "ask a question first")
    answer = turn_of(turns).answer.text
    if not rest:
        if number:
            hint = f"/save {number} PATH; a file of that name is ./{number}"
            meant = file_meant(answer, (), number)
            rest = answered(f"save {code_of(answer, number)[1]} to", meant, hint)
        else:
            rest = answered("save the chat to", file_name())
    path = file_typed(rest)
    if takes_chat(path) and not number:
        text, what = as_markdown(repl.conversation.system, turns), "the chat"
    else:
        text, what = code_of(answer, number)
    if _written(path, text, what):
        diagnostics.note(f"{what} is in {path}")


def apply(repl: Repl, rest: str) -> None:
    """/apply [n] [PATH]"""
    from lacli.chat.blocks import change_of, file_made, file_meant, turn_of, unnamed
    from lacli.chat.targets import file_typed, put

    number, rest = numbered(rest)
    turn = turn_of(repl.conversation.turns)
    attachments = repl.conversation.attachments
    path = file_typed(rest or file_meant(turn.answer.text, attachments, number))
    if path == Path():
        raise unnamed(attachments)
    place = _place(path)
    if not place.exists:
        made = file_made(path, turn.answer.text, number)
        _show(made, place)
        if confirm(f"{made.what}: make {place}?"):
            put(place, made.data)
            diagnostics.note(f"{path} was made")
        else:
            diagnostics.note("nothing was written")
        return
    file = place.read()
    change = change_of(file, turn, number)
    if not change.diff:
        diagnostics.note(f"{path} has just this text already")
        return
    _show(change, place)
    data = _agreed(file, change, place)
    if data == file.data:
        diagnostics.note("nothing was changed")
    else:
        file.write(data)
        diagnostics.note(f"{path} was changed")


def _show(change: Change, place: Place) -> None:
    """What it would do, and what is to be known of it."""
    for line in change.diff.removesuffix("\n").split("\n"):
        diagnostics.plain_line(line)
    for text in (*place.remarks, *change.remarks):
        diagnostics.warning(text)


def _agreed(file: TextFile, change: Change, place: Place) -> bytes:
    """What the user wants of it; the old bytes for none of it."""
    from lacli.cli.edit.hunks import chosen

    answer = one_of(f"{change.what}: change {place}?", "interactive")
    if answer == "interactive":
        return chosen(file, change.data)
    return change.data if answer else file.data


def _place(path: Path) -> Place:
    from lacli.chat.targets import place_of

    return place_of(path, Path())


def _written(path: Path, text: str, what: str) -> bool:
    """Whether the text is in the file now; what is there already is replaced only if the user says so."""
    from lacli.chat.targets import put

    place = _place(path)
    question = place.question(what)
    if question and not confirm(question):
        diagnostics.note("nothing was written")
        return False
    put(place, text.encode("utf-8", "replace"))
    return True
