"""Bytes and files from outside, and how the model sees them (case P1)."""

from __future__ import annotations

import codecs

import pytest

from lacli.events import Attachment
from lacli.prompts.content import composed, text_of


class TestText:
    @pytest.mark.parametrize("data", ["naïve 漢字\r\n".encode(), codecs.BOM_UTF8 + b"x", b""])
    def test_utf_8_needs_no_note(self, data: bytes) -> None:
        assert text_of(data, "stdin") == (data.decode("utf-8-sig"), None)

    def test_utf_16_is_known_by_its_mark(self) -> None:
        assert text_of("héllo\n".encode("utf-16"), "stdin") == ("héllo\n", None)

    def test_a_stray_latin_1_byte_is_that_letter_and_the_rest_stays_utf_8(self) -> None:
        text, note = text_of("é ok\n".encode() + b"# caf\xe9\n", "stdin")
        assert text == "é ok\n# café\n"
        assert note is not None
        assert note.startswith("stdin is not all UTF-8: 1 byte was")

    def test_bytes_without_a_letter_are_shown_as_missing(self) -> None:
        text, note = text_of(b"a\x80b\xff", "x.bin")
        assert text == "a\ufffdbÿ"
        assert note is not None
        assert "2 bytes were" in note


class TestComposed:
    def test_content_comes_first_in_a_fence_and_the_words_last(self) -> None:
        assert composed("explain", [Attachment("a.py", "a = 1\n")]) == "```a.py\na = 1\n```\n\nexplain"

    def test_attachments_keep_their_order(self) -> None:
        shown = composed("why?", [Attachment("a", "1"), Attachment("b", "2")])
        assert shown == "```a\n1\n```\n\n```b\n2\n```\n\nwhy?"

    def test_fences_inside_do_not_end_it(self) -> None:
        text = composed("fix", [Attachment("stdin", "```py\nx\n```\n`````")])
        assert text.startswith("``````stdin\n")
        assert text.endswith("\n``````\n\nfix")

    def test_one_alone_is_taken_as_it_is(self) -> None:
        assert composed("explain", [Attachment("stdin", " \n")]) == "explain"
        assert composed("", [Attachment("stdin", "what is this?\n")]) == "what is this?\n"
        assert composed("", [Attachment("a", "1"), Attachment("b", "2")]) == "```a\n1\n```\n\n```b\n2\n```"

    def test_a_label_never_breaks_its_line(self) -> None:
        assert composed("x", [Attachment("a\nb  c", "1")]).startswith("```a b c\n1\n")
