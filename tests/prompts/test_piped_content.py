"""Bytes and files from outside, and how the model sees them (case P1)."""

from __future__ import annotations

import codecs

import pytest

from lacli.prompts.content import text_of, with_content


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


class TestContent:
    def test_content_comes_first_in_a_fence_and_the_instruction_last(self) -> None:
        assert with_content("a = 1\n", "explain", "a.py") == "```a.py\na = 1\n```\n\nexplain"

    def test_fences_inside_do_not_end_it(self) -> None:
        text = with_content("```py\nx\n```\n`````", "fix", "stdin")
        assert text.startswith("``````stdin\n")
        assert text.endswith("\n``````\n\nfix")

    def test_either_alone_is_taken_as_it_is(self) -> None:
        assert with_content(" \n", "explain", "stdin") == "explain"
        assert with_content("what is this?\n", "", "stdin") == "what is this?\n"
