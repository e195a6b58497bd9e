"""The text of open files, as an editor changes it."""

from __future__ import annotations

import random

import pytest
from lsprotocol.types import (
    Position,
    PositionEncodingKind,
    Range,
    TextDocumentContentChangePartial,
    TextDocumentContentChangeWholeDocument,
)

from lacli.server.lsp.documents import Document

TEXT = "a😋b\r\nç\x0cd\u2028e\rlast\n\nend"
UNITS = {"utf-8": lambda text: len(text.encode()), "utf-16": lambda text: len(text.encode("utf-16-le")) // 2}
UNITS["utf-32"] = len


def document(text: str = TEXT, encoding: str = "utf-16") -> Document:
    return Document("file:///a.py", "python", text, encoding)


@pytest.mark.parametrize("encoding", [each.value for each in PositionEncodingKind])
def test_every_place_has_a_position_in_the_editor_s_units(encoding: str) -> None:
    here = document(encoding=encoding)
    lines = ["a😋b", "ç\x0cd\u2028e", "last", "", "end"]
    starts = [0, 5, 11, 16, 17]
    for line, (text, start) in enumerate(zip(lines, starts, strict=True)):
        for at in range(len(text) + 1):
            position = Position(line, UNITS[encoding](text[:at]))
            assert here.position(start + at) == position
            assert here.offset(position) == start + at


def test_what_is_behind_an_end_is_that_end_and_what_is_within_a_character_is_before_it() -> None:
    here = document()
    assert here.offset(Position(0, 99)) == 3
    assert here.offset(Position(1, 99)) == 10
    assert here.offset(Position(99, 0)) == len(TEXT)
    assert here.offset(Position(0, 2)) == 1


def test_changes_are_made_one_after_the_other() -> None:
    here = document("one\ntwo\n")
    here.change(
        [
            TextDocumentContentChangePartial(Range(Position(0, 3), Position(1, 0)), " "),
            TextDocumentContentChangePartial(Range(Position(0, 0), Position(0, 3)), "eins"),
        ]
    )
    assert here.text == "eins two\n"
    here.change([TextDocumentContentChangeWholeDocument("new")])
    assert here.text == "new"


def test_any_change_leaves_the_text_the_editor_has() -> None:
    seed = random.Random(7)
    letters = "ab\n\r\x0c\u2028😋ç"
    text = "start\n"
    here = document(text)
    for _ in range(300):
        start, end = sorted(seed.randint(0, len(text)) for _ in range(2))
        if text[start - 1 : start + 1] == "\r\n" or text[end - 1 : end + 1] == "\r\n":
            continue  # no editor has a cursor between these
        new = "".join(seed.choices(letters, k=seed.randint(0, 4)))
        change = TextDocumentContentChangePartial(Range(here.position(start), here.position(end)), new)
        here.change([change])
        text = text[:start] + new + text[end:]
        assert here.text == text
        text = text[-60:]
        here = document(text)
