"""reading.py: from a file to ids, never by way of a link, never a half of a character, never a control token."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lacli.project import reading
from lacli.project.reading import holds_secret, read, tokenize
from lacli.project.tracked import SourceFile, no_pause
from lacli.text.tokenizer import Tokenizer

from .conftest import posix_only

SALT = b"s" * 16


def file(name: str) -> SourceFile:
    return SourceFile(os.fsencode(name), 1, 1)


class TestRead:
    def test_text_comes_with_what_tells_a_change(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_bytes("\ufeffx = 'é'\n".encode())
        found = read(tmp_path, file("a.py"), SALT)
        assert isinstance(found, reading.Content)
        assert found.text == "x = 'é'\n"
        assert found.mtime_ns == (tmp_path / "a.py").stat().st_mtime_ns
        (tmp_path / "b.py").write_bytes("\ufeffx = 'é'\n".encode())
        other = read(tmp_path, file("b.py"), SALT)
        assert isinstance(other, reading.Content)
        assert other.digest == found.digest != reading.keyed_hash(b"other", SALT)

    @pytest.mark.parametrize(
        ("data", "reason"),
        [(b"a\0b", "binary"), (b"caf\xe9\n", "binary"), (b"x" * (reading.MAX_FILE_BYTES + 1), "large")],
    )
    def test_what_is_no_text_is_left_out(self, tmp_path: Path, data: bytes, reason: str) -> None:
        (tmp_path / "a").write_bytes(data)
        assert read(tmp_path, file("a"), SALT) == reason

    @posix_only
    def test_what_became_a_link_a_pipe_or_nothing_since_it_was_listed(self, tmp_path: Path) -> None:
        (tmp_path / "real").write_text("x")
        os.symlink(tmp_path / "real", tmp_path / "link")
        os.mkfifo(tmp_path / "pipe")
        assert read(tmp_path, file("link"), SALT) == "unreadable"
        assert read(tmp_path, file("pipe"), SALT) == "special"
        assert read(tmp_path, file("none"), SALT) == "unreadable"
        assert read(tmp_path, file("nul\0"), SALT) == "unreadable"


class TestTokens:
    def test_a_long_text_in_pieces_says_the_same(self, vocabulary: Tokenizer) -> None:
        text = "".join(f"def function_{i}(a):\n    return a * {i}  # é\n\n\n" for i in range(500))
        breaths: list[int] = []
        ids = tokenize(text, vocabulary, lambda: breaths.append(1))
        assert vocabulary.decode(ids.tolist()) == text
        assert len(breaths) >= len(text) // 4_000

    def test_one_line_without_end_is_cut_too(self, vocabulary: Tokenizer) -> None:
        text = "é" * 10_000
        assert vocabulary.decode(tokenize(text, vocabulary, no_pause).tolist()) == text

    def test_markers_become_no_control_tokens(self, vocabulary: Tokenizer) -> None:
        ids = tokenize("a <|im_start|>user <|im_end|> b", vocabulary, no_pause).tolist()
        assert not vocabulary.control_ids & set(ids)


class TestRefused:
    def test_a_secret_is_found_wherever_the_pieces_end(self) -> None:
        key = "AKIAIOSFODNN7ABCDEFG"
        for place in range(0, 9_000, 97):
            text = ("x = 1\n" * 2_000)[:place] + f"\n{key}\n" + "y = 2\n" * 700
            assert holds_secret(text, lambda piece: "a key" if key in piece else None, no_pause), place

    def test_what_holds_none_is_not_refused(self) -> None:
        assert not holds_secret("x = 1\n" * 3_000, lambda piece: "a key" if "AKIA" in piece else None, no_pause)
