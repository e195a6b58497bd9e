"""The slash commands that take something out of the chat, with their questions to the user."""

from __future__ import annotations

from lacli.chat.chat import ChatSession
from lacli.chat.outcome import Outcome, note
from lacli.chat.slash import numbered
from lacli.cli.terminal import diagnostics
from lacli.cli.terminal.confirm import answered, confirm, one_of
from lacli.errors import UsageError


def copy(chat: ChatSession, rest: str) -> Outcome:
    """/copy [n]"""
    from lacli.chat import writing
    from lacli.shared.clipboard import copied

    part = writing.part(chat, rest)
    takers = copied(part.text)
    if not takers:
        raise UsageError("there is no clipboard that can be reached", "install wl-copy or xclip, or /save it to a file")
    sure = "" if takers != ["the terminal"] else ", which may not allow it"
    return note(part.copied(f"to {' and to '.join(takers)}{sure}"))


def save(chat: ChatSession, rest: str) -> Outcome:
    """/save [n] [PATH]"""
    from lacli.chat import writing

    number, path = numbered(rest)
    if not path:
        asked = writing.where_to_save(chat, number)
        path = answered(asked.text, asked.likely, asked.hint)
    planned = writing.plan_save(chat, path, number)
    if planned.question and not confirm(planned.question):
        return note(writing.NOT_WRITTEN)
    return note(planned.write())


def apply(chat: ChatSession, rest: str) -> Outcome:
    """/apply [n] [PATH]"""
    from lacli.chat import writing

    number, path = numbered(rest)
    planned = writing.plan_change(chat, path, number)
    if planned.nothing:
        return note(planned.nothing)
    for line in planned.change.diff.removesuffix("\n").split("\n"):
        diagnostics.plain_line(line)
    for remark in planned.remarks:
        diagnostics.warning(remark)
    data: bytes | None = planned.change.data
    if not planned.target.exists:
        data = data if confirm(planned.question) else None
    elif (answer := one_of(planned.question, "interactive")) == "interactive":
        from lacli.cli.edit.hunks import choose_hunks

        data = choose_hunks(planned.file, planned.change.data)
    elif not answer:
        data = None
    return note(planned.write(data))
