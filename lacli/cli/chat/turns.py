"""The slash commands about turns: leave, forget, go back, ask again, write in an editor, sum up, change the session."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.chat.slash import as_typed
from lacli.cli.terminal import diagnostics
from lacli.shared.wording import counted, unvarying

if TYPE_CHECKING:
    from lacli.cli.chat.loop import Repl

_SHOWN_SESSIONS = 10


class Leave(Exception):
    """The user wants to leave."""


def leave(repl: Repl, rest: str) -> None:
    """/exit"""
    raise Leave


def clear(repl: Repl, rest: str) -> None:
    """/clear"""
    if repl.conversation.turns:
        repl.recorder.leave()
    repl.conversation.clear()
    repl.last = None
    diagnostics.note("the conversation is forgotten; /undo brings it back")


def retry(repl: Repl, rest: str) -> None:
    """/retry"""
    if not repl.conversation.turns:
        diagnostics.note("there is no question to ask again")
        return
    why = unvarying(repl.common.temperature, repl.common.seed)
    if why and not repl.conversation.changed and not repl.conversation.turns[-1].interrupted:
        remedy = "/set temperature 0.7" if repl.common.temperature == 0 else "/set seed none"
        diagnostics.note(f"the same answer is to be expected, as {why}; {remedy} makes it vary")
    repl.retry()


def undo(repl: Repl, rest: str) -> None:
    """/undo"""
    before = repl.conversation.turns
    change = repl.conversation.undo()
    now = repl.conversation.turns
    repl.recorder.follow(change, now, len(before), repl.model)
    said = {
        "": "there is nothing to take back",
        "question": "taken back: " + _short(before[-1].question.text) if before else "",
        "retry": "the answer before is back",
        "drop": "the file is back",
        "clear": f"{counted(len(now), 'turn is', 'turns are')} back",
        "compact": f"{counted(len(now), 'turn is', 'turns are')} back, the summary is gone",
    }
    diagnostics.note(said[change])


def edit(repl: Repl, rest: str) -> None:
    """/edit"""
    from lacli.cli.terminal.editor import edited

    repl.draft = as_typed(edited(""))


def compact(repl: Repl, rest: str) -> None:
    """/compact"""
    conversation = repl.conversation
    if len(conversation.turns) < 2:
        diagnostics.note("there are no older turns to sum up")
        return
    finished = repl.stream(conversation.summary_request())
    if finished is None or finished.reason == "cancelled" or not finished.text.strip():
        diagnostics.note("nothing was changed")
        return
    unread = conversation.left_out > 0 or finished.dropped > 0
    went = conversation.compact(finished)
    repl.recorder.leave(conversation.turns, repl.model)
    partly = "; those that no longer fit into the context are not in it" if unread else ""
    diagnostics.note(
        f"this summary stands for {counted(went, 'older turn', 'older turns')} from now on{partly}; "
        "/undo brings them back"
    )


def sessions(repl: Repl, rest: str) -> None:
    """/sessions [ID]"""
    from lacli.chat.conversation import Conversation
    from lacli.project.root import project_root
    from lacli.sessions.store import SessionStore, path
    from lacli.shared.wording import age

    store = SessionStore(path())
    if not rest:
        found = store.list(project_root(Path(".")), limit=_SHOWN_SESSIONS)
        for each in found:
            mark = "*" if each.id == repl.recorder.id else " "
            turns = counted(each.turns, "turn", "turns")
            diagnostics.plain_line(
                f"{mark} {each.id[:8]}  {age(each.used, time.time()):>10}  {turns:>8}  {each.kind:8}  {each.title}"
            )
        diagnostics.note("/sessions ID goes on with one" if found else "no conversation is kept of this project")
        return
    session = store.session(rest)
    repl.conversation = Conversation.of(session, model=repl.model)
    repl.recorder.resume(session)
    repl.last = None
    show_resumed(repl)


def show_resumed(repl: Repl) -> None:
    """Where a conversation that is gone on with stands."""
    turns = repl.conversation.turns
    diagnostics.note(f"going on with session {repl.recorder.id[:8]}, {counted(len(turns), 'turn', 'turns')}")
    if turns:
        last = turns[-1]
        diagnostics.plain_line(f"> {_short(last.question.text)}", " ")
        diagnostics.plain_line(_short(last.answer.text, 300) + (" (interrupted)" if last.interrupted else ""), " ")


def _short(text: str, most: int = 60) -> str:
    words = " ".join(text[: 8 * most].split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"
