"""Pieces of other files to show a model with the one it completes: splitting, comparing, selecting. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lacli.text.lines import likeness

LINES = 64
"""The most lines of a piece."""
_MOST = 16
_OF_ONE_FILE = 2
_SAME = 0.9
_ALIKE = 0.5
_WORD = re.compile(r"[A-Za-z_]\w{2,}")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a file."""

    name: str
    """The file's, relative to the project."""
    start: int
    """Its first line, from 0."""
    text: str


def split(name: str, text: str) -> list[Snippet]:
    """Split a file into pieces of at most `LINES` lines, at blank lines if possible."""
    lines = text.split("\n")
    found: list[Snippet] = []
    start = 0
    while start < len(lines):
        end = min(start + LINES, len(lines))
        if end < len(lines):
            end = next((at for at in range(end, start + LINES // 2, -1) if not lines[at - 1].strip()), end)
        part = "\n".join(lines[start:end]).strip("\n")
        if part.strip():
            found.append(Snippet(name, start, part))
        start = end
    return found


def select(files: Sequence[Sequence[Snippet]], cursor_text: str, most_characters: int) -> list[Snippet]:
    """The pieces of each file that share most words with the text at the cursor, in the order of files and lines.

    A piece that resembles another one, or the text at the cursor, is left out: the model would repeat it.
    """
    words = set(_WORD.findall(cursor_text))
    kept: list[Snippet] = []
    room = most_characters
    for file in files:
        best = sorted(file, key=lambda piece: (-len(words & set(_WORD.findall(piece.text))), piece.start))
        for piece in sorted(best[:_OF_ONE_FILE], key=lambda piece: piece.start):
            if len(kept) >= _MOST or len(piece.text) > room or likeness(piece.text, cursor_text) > _ALIKE:
                continue
            twin = next((index for index, other in enumerate(kept) if likeness(piece.text, other.text) > _SAME), None)
            if twin is not None:
                room += len(kept[twin].text)
                kept[twin] = piece
            else:
                kept.append(piece)
            room -= len(piece.text)
    return kept


def join(snippets: Iterable[Snippet]) -> list[tuple[str, str]]:
    """One text per file, in the order of the files."""
    texts: dict[str, list[str]] = {}
    for piece in snippets:
        texts.setdefault(piece.name, []).append(piece.text)
    return [(name, "\n\n".join(parts)) for name, parts in texts.items()]
