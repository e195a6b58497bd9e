"""The slash commands about what the model is given: files, the system message, saved prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacli.chat.slash import as_typed, path_of
from lacli.cli.terminal import diagnostics
from lacli.errors import UsageError
from lacli.shared.wording import described, number_of

if TYPE_CHECKING:
    from lacli.cli.chat.loop import Repl


def file(repl: Repl, rest: str, given: bool = False) -> None:
    """/file PATH; or a file that was `given` with the command, which may be a pipe"""
    from lacli.prompts.attach import attachment

    if not rest:
        raise UsageError("/file needs a path", "Tab completes one")
    found = attachment(str(path_of(rest)), diagnostics.note, repl.context, stream_too=given)
    repl.conversation.attach(found)
    diagnostics.note(f"{described(found)} goes with the next question")


def drop(repl: Repl, rest: str) -> None:
    """/drop [n]"""
    conversation = repl.conversation
    attachments = conversation.attachments
    if not attachments:
        diagnostics.note("no file is attached")
        return
    if not rest:
        waiting = len(attachments) - len(conversation.pending)
        for number, each in enumerate(attachments, 1):
            when = "waits for the next question" if number > waiting else "went with a question"
            diagnostics.plain_line(f"{number:3}  {described(each)}, {when}")
        diagnostics.note("/drop n takes one away")
        return
    chosen = number_of(rest, len(attachments))
    if chosen is None:
        raise UsageError(f"there is no attached file {rest}", "/drop lists them")
    dropped = conversation.drop(chosen)
    diagnostics.note(f"{dropped.label} is not shown any more")


def system(repl: Repl, rest: str) -> None:
    """/system [TEXT]; `none` is nothing"""
    if not rest:
        diagnostics.plain_line(repl.conversation.system or "there is no system message; /system TEXT sets one")
        return
    gone = rest.strip() == "none"
    repl.conversation.system = "" if gone else rest
    repl.recorder.describe(system=repl.conversation.system)
    done = "gone" if gone else "set"
    diagnostics.note(f"the system message is {done}; the conversation is read again with the next question")


def template(repl: Repl, rest: str) -> None:
    """/template [NAME …]"""
    from lacli.prompts import saved

    if not rest:
        names = saved.names()
        for name in names:
            diagnostics.plain_line(f"  {name}")
        diagnostics.note(
            "/template NAME puts one at the prompt" if names else "no template is saved yet; see `lacli templates`"
        )
        return
    told, question = saved.named(rest).filled()
    if told.strip():
        system(repl, told)
    repl.draft = as_typed(question)
