"""Sessions as lines for people and as records for programs. Pure but for the user's home."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lacli.cli.terminal.tty import column_after, sanitize
from lacli.shared.wording import age, counted, short_path

if TYPE_CHECKING:
    from lacli.sessions.records import Hit, Session, Summary

_PROJECT = 24
"""Columns of a project's path."""
_TURNS = 3
"""The column of numbers, which stand to the right."""


def table(found: Sequence[Summary], length: int, everywhere: bool, width: int, header: bool = False) -> list[str]:
    """A line for each session, of ids of this length; no wider than `width`, where it is not 0."""
    project = ["project"] if everywhere else []
    rows = [["id", "used", "kind", "turns", *project, "title"]] if found and header else []
    rows += [_row(each, length, everywhere) for each in found]
    widths = [length, 10, 8, 5, *([_PROJECT] if everywhere else []), 0]
    return [fitted("  ".join(map(_cell, range(len(row)), row, widths)).rstrip(), width) for row in rows]


def _cell(column: int, text: str, width: int) -> str:
    return text.rjust(width) if column == _TURNS else text.ljust(width)


def _row(each: Summary, length: int, everywhere: bool) -> list[str]:
    title = f"[interrupted] {each.title}" if each.interrupted else each.title
    project = [short_path(each.project, _PROJECT)] if everywhere else []
    return [each.id[:length], age(each.used, time.time()), each.kind, str(each.turns), *project, title]


def place(hit: Hit, width: int) -> str:
    """Where in a session something was found, for the line below it."""
    matches = f" ({counted(hit.matches, 'turn', 'turns')})" if hit.matches > 1 else ""
    return fitted(f"    {hit.turn}. {hit.where}{matches}: {hit.excerpt}", width)


def shown(session: Session) -> list[str]:
    """A session for reading."""
    from lacli.sessions.export import completeness, format_time, quoted_answer

    where = f" in {session.project}" if session.project else ""
    lines = [f"{session.id}  {session.kind}{where}, {session.model}, {format_time(session.started)}"]
    if session.system:
        lines += ["", f"system: {session.system}"]
    for number, turn in enumerate(session.turns, 1):
        lines += ["", f"--- {number}, {format_time(turn.at)}{completeness(turn)}"]
        for attachment in turn.question.attachments:
            lines.append(f"> [{attachment.label}, {counted(len(attachment.text), 'character', 'characters')}]")
        lines += [f"> {line}" for line in turn.question.text.rstrip("\n").split("\n") if turn.question.text]
        lines += ["", quoted_answer(turn)]
    return lines


def summary_record(each: Summary) -> dict[str, Any]:
    """A session without its turns, for programs."""
    return {
        "id": each.id,
        "kind": each.kind,
        "project": str(each.project) if each.project else None,
        "model": each.model,
        "title": each.title,
        "turns": each.turns,
        "begun": round(each.started, 3),
        "used": round(each.used, 3),
        "interrupted": each.interrupted,
    }


def hit_record(hit: Hit) -> dict[str, Any]:
    """The same, with where the text was found."""
    found = {"matches": hit.matches, "turn": hit.turn, "where": hit.where, "excerpt": hit.excerpt}
    return {**summary_record(hit.session), **found}


def fitted(text: str, width: int) -> str:
    """One line, cut at this width, where there is one; wide characters take two columns."""
    text = " ".join(text.splitlines())
    if not width or column_after(0, sanitize(text)) <= width:
        return text
    text = sanitize(text)[:width]
    while column_after(0, text) > width - 3:
        text = text[:-1]
    return text + "..."
