"""A file of text: what a model is shown of it, and bytes that nothing but an edit changes."""

from __future__ import annotations

import random

import pytest

from lacli.edits.write.textfile import TextFile
from lacli.errors import UsageError

KINDS = {
    "crlf": (b"a\r\nb\r\n", "utf-8", "a\nb\n"),
    "mixed": (b"a\r\nb\nc\rd", "utf-8", "a\nb\nc\nd"),
    "lone cr": (b"a\rb\r", "utf-8", "a\nb\n"),
    "bom": (b"\xef\xbb\xbfx\n", "utf-8", "x\n"),
    "only a bom": (b"\xef\xbb\xbf", "utf-8", ""),
    "empty": (b"", "utf-8", ""),
    "utf-16-le": ("\ufeffé\r\n漢".encode("utf-16-le"), "utf-16-le", "é\n漢"),
    "utf-16-be": ("\ufeffé\n".encode("utf-16-be"), "utf-16-be", "é\n"),
    "utf-32": ("\ufeffé\n".encode("utf-32-le"), "utf-32-le", "é\n"),
    "latin-1": (b"caf\xe9\n", "latin-1", "café\n"),
    "cp1252": (b"\x93caf\xe9\x94\n", "cp1252", "\u201ccafé\u201d\n"),
    "utf-8 and odd bytes": ("é漢".encode() + b"\xe9\x81\n", "utf-8", "é漢é\N{REPLACEMENT CHARACTER}\n"),
    "other separators": ("a\u2028b\x0cc\x85d\n".encode(), "utf-8", "a\u2028b\x0cc\x85d\n"),
}


class TestReading:
    @pytest.mark.parametrize("kind", KINDS)
    def test_encoding_and_text(self, kind: str) -> None:
        data, encoding, text = KINDS[kind]
        file = TextFile.of_bytes(data, "f")
        assert (file.encoding, file.text) == (encoding, text)

    @pytest.mark.parametrize("data", [b"a\0b", b"\x7fELF\0\0", "a\n".encode("utf-16-le")])
    def test_a_binary_file_is_refused(self, data: bytes) -> None:
        with pytest.raises(UsageError, match="f is a binary file"):
            TextFile.of_bytes(data, "f")

    def test_broken_utf_16_is_refused(self) -> None:
        with pytest.raises(UsageError, match="utf-16"):
            TextFile.of_bytes(b"\xff\xfea\0b", "f")

    def test_bytes_that_are_no_text_are_counted(self) -> None:
        assert TextFile.of_bytes("é".encode() + b"\xe9\xff\n", "f").odd == 2
        assert TextFile.of_bytes(b"caf\xe9\n", "f").odd == 0

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_place_maps_to_its_byte(self, kind: str) -> None:
        file = TextFile.of_bytes(KINDS[kind][0], "f")
        places = [file.byte_at(offset) for offset in range(len(file.text) + 1)]
        assert places == sorted(places)
        assert places[-1] == len(file.data)
        for start, end in zip(range(len(file.text)), places[1:], strict=False):
            assert file.reads(file.data[: file.byte_starts[0]] + file.data[places[start] : end]) == file.text[start]


class TestReplaced:
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_text_is_as_wanted_and_nothing_else_changes(self, kind: str) -> None:
        file = TextFile.of_bytes(KINDS[kind][0], "f")
        for start in range(len(file.text) + 1):
            for end in range(start, len(file.text) + 1):
                for new in ("", "q", "q\n", "\nq", "\n\n"):
                    data = file.replaced(start, end, new)
                    assert file.reads(data) == file.text[:start] + new + file.text[end:]
                    assert data.startswith(file.data[: file.byte_at(start)])
                    assert data.endswith(file.data[file.byte_at(end) :])

    @pytest.mark.parametrize(
        ("data", "at", "wanted"),
        [
            (b"a\r\nb\n", 1, b"aq\r\nr\r\nb\n"),
            (b"a\r\nb\n", 3, b"a\r\nbq\nr\n"),
            (b"a\r\nb", 3, b"a\r\nbq\r\nr"),
            (b"a\rb\r", 1, b"aq\rr\rb\r"),
            (b"a", 1, b"aq\nr"),
        ],
    )
    def test_new_lines_end_as_their_neighbours(self, data: bytes, at: int, wanted: bytes) -> None:
        assert TextFile.of_bytes(data, "f").replaced(at, at, "q\nr") == wanted

    def test_a_letter_the_encoding_lacks_is_a_usage_error(self) -> None:
        with pytest.raises(UsageError, match=r"f is written in latin-1, which has no '漢'"):
            TextFile.of_bytes(b"caf\xe9\n", "f").replaced(0, 0, "漢")

    def test_random_places_of_random_files(self) -> None:
        chance = random.Random(5)
        pieces = ["a", "é", "漢字", "\x04", " ", "\r\n", "\n", "\r", "👩‍💻"]
        refused = 0
        for _ in range(1000):
            text = "".join(chance.choices(pieces, k=chance.randrange(12)))
            file = TextFile.of_bytes(text.encode(chance.choice(["utf-8", "utf-8-sig", "utf-16", "utf-32"])), "f")
            start, end = sorted(chance.randrange(len(file.text) + 1) for _ in range(2))
            new = chance.choice(["", "q", "q\n", "\n\nq"])
            wanted = file.text[:start] + new + file.text[end:]
            try:
                assert file.reads(file.replaced(start, end, new)) == wanted
            except UsageError:  # only a lone \r that would stand before a \n
                assert "\r" in file.ends
                refused += 1
        assert refused < 20
