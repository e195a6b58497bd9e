"""A rewritten text in its file: it reads as intended, and every line that was kept has its very bytes."""

from __future__ import annotations

import random

import pytest

from lacli.edits.write.splice import spliced, visible
from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError


def made(data: bytes, new: str, unseen: str = "") -> bytes:
    return spliced(TextFile.of_bytes(data, "f"), new, unseen)


class TestLineEnds:
    @pytest.mark.parametrize(
        ("before", "new", "after"),
        [
            (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
            (b"a\r\nb\nc\rd\n", "a\nx\nc\nd\n", b"a\r\nx\nc\rd\n"),
            (b"a\r\nb\nc\rd\n", "a\nb\ny\nd\n", b"a\r\nb\ny\rd\n"),
            (b"a\r\nb\n", "a\nnew\nb\n", b"a\r\nnew\r\nb\n"),
            (b"a\r\nb\n", "new\na\nb\n", b"new\r\na\r\nb\n"),
            (b"a\r\nb", "a\nb\nc", b"a\r\nb\r\nc"),
            (b"a\nb", "a\nb\n", b"a\nb\n"),
            (b"a\nb\n", "a\nb", b"a\nb"),
            (b"a\rb\r", "a\nq\nb\n", b"a\rq\rb\r"),
            (b"", "x\n", b"x\n"),
            (b"x\n", "", b""),
            (b"\xef\xbb\xbfa\r\n", "b\n", b"\xef\xbb\xbfb\r\n"),
            (b"a\rb\n\n", "a\n\n", b"a\r\r"),
            (b"a\r\nb\n", "x\ny\nz\nb\n", b"x\r\ny\r\nz\r\nb\n"),
        ],
    )
    def test_each_line_keeps_or_takes_its_own(self, before: bytes, new: str, after: bytes) -> None:
        assert made(before, new) == after

    def test_the_encoding_is_kept(self) -> None:
        assert made("\ufeffé\r\nx".encode("utf-16-le"), "é\ny") == "\ufeffé\r\ny".encode("utf-16-le")
        assert made(b"caf\xe9\nx\n", "café\nü\n") == b"caf\xe9\n\xfc\n"
        with pytest.raises(UsageError, match=r"latin-1, which has no '漢'"):
            made(b"caf\xe9\n", "漢\n")


class TestWhatTheModelCannotSee:
    """google-ai-edge/litert-torch#1207: characters that the vocabulary lacks are dropped without a word."""

    def test_a_line_it_copied_without_them_is_kept(self) -> None:
        data = b'SEP = "a\x1db\x04c"\nx = 1\n'
        assert made(data, 'SEP = "abc"\ntotal = 1\n', "\x1d\x04") == b'SEP = "a\x1db\x04c"\ntotal = 1\n'

    def test_in_a_changed_line_they_stay_beside_what_they_stood_beside(self) -> None:
        assert made(b's = "a\x04b" + x\n', 's = "ab" + total\n', "\x04") == b's = "a\x04b" + total\n'

    def test_they_go_with_the_lines_that_go(self) -> None:
        assert made(b"a\x04\nb\n", "b\n", "\x04") == b"b\n"

    def test_bytes_that_are_no_text_stay_in_changed_lines(self) -> None:
        data = "é = ".encode() + b'"\xff\x81" + x\n'
        shown = TextFile.of_bytes(data, "f").text
        assert made(data, shown.replace("x", "total")) == "é = ".encode() + b'"\xff\x81" + total\n'

    def test_a_line_of_nothing_else(self) -> None:
        assert made(b"\x04\na\n", "\nb\n", "\x04") == b"\x04\nb\n"


def test_random_edits_read_as_intended_and_keep_all_other_lines_byte_for_byte() -> None:
    chance = random.Random(7)
    contents = ["", "a", "  b", "é漢", "x\x04y", "}", "👩‍💻", "tab\there"]
    for _ in range(1500):
        ends = chance.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"]])
        lines = [(f"{index} {chance.choice(contents)}", chance.choice(ends)) for index in range(chance.randrange(1, 9))]
        final = chance.random() < 0.7
        whole = "".join(content + end for content, end in lines[:-1]) + lines[-1][0] + lines[-1][1] * final
        encoding = chance.choice(["utf-8", "utf-8-sig", "utf-16-le"])
        data = (("\ufeff" if encoding == "utf-16-le" else "") + whole).encode(encoding)
        file = TextFile.of_bytes(data, "f")
        unseen = chance.choice(["", "\x04"])
        kept = [line for line in lines if chance.random() < 0.7]
        new = [visible(content, unseen) for content, _ in kept]
        for _ in range(chance.randrange(3)):
            new.insert(chance.randrange(len(new) + 1), f"new {chance.choice(contents[:5])}")
        if not new:
            continue
        wanted = visible("\n".join(new) + "\n" * final, unseen)
        result = spliced(file, wanted, unseen)
        assert visible(file.reads(result), unseen) == wanted
        plain = encoding.removesuffix("-sig")
        for content, end in kept:
            # a line that moves to or from the end of a file without a final line end has to change that
            inner = content if not final else content + end
            assert inner.encode(plain) in result, (data, wanted, result)


def test_an_unchanged_text_gives_the_same_bytes() -> None:
    for data in (b"a\r\nb\nc\rd", b"\xef\xbb\xbf", b"caf\xe9\r", b"\xc3\xa9\xff\n\n"):
        file = TextFile.of_bytes(data, "f")
        assert spliced(file, file.text) == data
