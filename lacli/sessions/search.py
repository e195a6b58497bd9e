"""Literal search in all turns and attachments: no query language, so that no input is an error.

All text is read and compared without case: ten thousand turns take a few tenths of a second, and no index has to be
kept, which would be as large as the text and would have to be repaired with it.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lacli.sessions import rows
from lacli.sessions.clipping import valid_unicode
from lacli.sessions.database import single_row
from lacli.sessions.records import Hit

if TYPE_CHECKING:
    import sqlite3

_CONTEXT_CHARACTERS = 60
_IN_SCOPE = "session IN (SELECT id FROM sessions WHERE ? OR project = ?)"


@dataclass(slots=True)
class _Match:
    """The matches in one session so far."""

    matches: int
    number: int
    where: str
    text: str


def fold(text: str) -> str:
    """The text for comparison: case-folded and in NFC."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


def search(
    connection: sqlite3.Connection,
    text: str,
    project: Path | None,
    everywhere: bool,
    limit: int | None,
    kinds: Collection[str] = (),
) -> list[Hit]:
    """The sessions with this text in a question, an answer or an attachment, the one used last first."""
    wanted = fold(valid_unicode(text))
    matched = _matched(connection, wanted, (everywhere, rows.project_column(project)))
    hits: list[Hit] = []
    for session in rows.summaries(connection, project, everywhere, kinds=kinds):
        match = matched.get(session.id)
        if match is not None and (limit is None or len(hits) < limit):
            place = connection.execute(
                "SELECT count(*) FROM turns WHERE session = ? AND number <= ?", (session.id, match.number)
            ).fetchone()[0]
            hits.append(Hit(session, match.matches, place, match.where, excerpt(match.text, wanted)))
    return hits


def _matched(connection: sqlite3.Connection, wanted: str, scope: tuple[bool, str | bytes]) -> dict[str, _Match]:
    """The matches by session."""
    attached = _attached(connection, wanted, scope)
    matched: dict[str, _Match] = {}
    for number, session, question, answer in connection.execute(
        f"SELECT number, session, question, answer FROM turns WHERE {_IN_SCOPE} ORDER BY number DESC", scope
    ):
        if wanted in fold(rows.text_of(question)):
            where, text = "question", rows.text_of(question)
        elif wanted in fold(rows.text_of(answer)):
            where, text = "answer", rows.text_of(answer)
        elif number in attached:
            where, text = attached[number]
        else:
            continue
        if session in matched:
            matched[session].matches += 1
        else:
            matched[session] = _Match(1, number, where, text)
    return matched


def _attached(
    connection: sqlite3.Connection, wanted: str, scope: tuple[bool, str | bytes]
) -> dict[int, tuple[str, str]]:
    """Label and text of the first attachment of each turn that has it in one of them."""
    attachments = connection.execute(
        "SELECT turn, label, content FROM attachments"
        f" WHERE turn IN (SELECT number FROM turns WHERE {_IN_SCOPE}) ORDER BY turn, place",
        scope,
    ).fetchall()
    contents = {}
    for number in {content for _, _, content in attachments}:
        text = rows.text_of(single_row(connection.execute("SELECT text FROM contents WHERE number = ?", (number,)))[0])
        if wanted in fold(text):
            contents[number] = text
    found: dict[int, tuple[str, str]] = {}
    for turn, label, content in attachments:
        name = rows.text_of(label)
        if turn not in found and (content in contents or wanted in fold(name)):
            found[turn] = (name or "attachment", contents.get(content, name))
    return found


def excerpt(text: str, wanted: str) -> str:
    """The first occurrence of `wanted` (folded) in a text with some context, on one line."""
    start = _position(text, fold(text).find(wanted))
    first, last = max(0, start - _CONTEXT_CHARACTERS), start + len(wanted) + _CONTEXT_CHARACTERS
    piece = " ".join(text[first:last].split())
    return f"{'...' if first else ''}{piece}{'...' if last < len(text) else ''}"


def _position(text: str, place: int) -> int:
    """Where in a text a place of its folded form is: folding may make it longer or shorter."""
    if place <= 0 or text.isascii():
        return max(0, place)
    return bisect_left(range(len(text)), place, key=lambda end: len(fold(text[:end])))
