"""Sessions as documents."""

from __future__ import annotations

import json
from pathlib import Path

from lacli.events import Attachment
from lacli.sessions.clipping import MOST_CHARACTERS, clipped, title, valid_unicode
from lacli.sessions.export import markdown, record
from lacli.sessions.records import Session
from tests.sessions.turns import turn

FENCED = "text\n```py\n````\nx\n"
SESSION = Session(
    "ab12",
    "chat",
    Path("/home/me/site"),
    "smollm2",
    "Be terse.",
    "why?",
    (turn("why?", "because\n", attachments=(Attachment("a.md", FENCED),)), turn("and?", "we", reason="cancelled")),
)


def test_markdown_holds_everything_and_its_fences_are_longer_than_those_inside() -> None:
    text = markdown(SESSION)
    assert f"`a.md`:\n\n`````\n{FENCED}`````\n\nwhy?" in text
    for part in ("# why?", "## System\n\nBe terse.", "because", "## 2. Answer (interrupted)\n\nwe\n"):
        assert part in text


def test_json_holds_everything() -> None:
    document = json.loads(json.dumps(record(SESSION)))
    assert document["project"] == "/home/me/site"
    assert document["turns"][0]["attachments"] == [{"label": "a.md", "text": FENCED}]
    assert document["turns"][0]["token_ids"] == [1, 2, 70_000]
    assert document["turns"][1]["finish_reason"] == "cancelled"
    assert document["turns"][0]["counts"]["tokens"] == 3


class TestTexts:
    def test_a_text_within_the_bound_is_kept_as_it_is(self) -> None:
        assert clipped("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS

    def test_a_longer_one_says_how_much_is_missing(self) -> None:
        assert "[... 1,000 characters are not kept ...]" in clipped("x" * (MOST_CHARACTERS + 1000))

    def test_halves_of_a_character_are_joined_and_others_replaced(self) -> None:
        assert valid_unicode("\ud83d\ude00 \ude00\ud83d \udcff") == "\U0001f600 \ufffd\ufffd \ufffd"

    def test_a_title_is_one_line_of_whole_words(self) -> None:
        assert title("  one\n two\t three ") == "one two three"
        assert title("\n\nadd a test\n\nReturn the whole of a.py") == "add a test"
        assert title("word " * 40) == "word " * 19 + "word..."
        assert title("x" * 1_000_000) == "x" * 100 + "..."
