"""`lacli complete`: where the cursor is, what surrounds it, and nothing but the inserted text on stdout."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from lacli.cli.complete import Target, around, cursor_offset, parse_target
from lacli.errors import UsageError
from tests.cli.conftest import Scripted

TEXT = "ab\ncdé漢\r\nx\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_bytes(TEXT.encode())
    return tmp_path


class TestParseTarget:
    def test_line_and_column_are_read_from_the_right(self, folder: Path) -> None:
        assert parse_target("a.py") == Target("a.py")
        assert parse_target("a.py:3") == Target("a.py", 3)
        assert parse_target("a.py:3:4") == Target("a.py", 3, 4)
        assert parse_target("C:\\b.py:3:4") == Target("C:\\b.py", 3, 4)
        assert parse_target("-") == Target("-")
        assert parse_target("-:2:1") == Target("-", 2, 1)

    def test_an_existing_name_wins(self, folder: Path) -> None:
        (folder / "a.py:3").touch()
        assert parse_target("a.py:3") == Target("a.py:3")
        assert parse_target("a.py:3:4") == Target("a.py:3", 4)
        assert parse_target("a.py:3:4:5") == Target("a.py:3", 4, 5)
        (folder / "a.py:3:4").touch()
        assert parse_target("a.py:3:4") == Target("a.py:3:4")


class TestCursorOffset:
    @pytest.mark.parametrize(
        ("line", "column", "before"),
        [
            (None, None, TEXT),
            (1, None, "ab"),
            (1, 1, ""),
            (1, 3, "ab"),
            (2, 4, "ab\ncdé"),
            (2, None, "ab\ncdé漢"),
            (2, 5, "ab\ncdé漢"),
            (3, None, "ab\ncdé漢\r\nx"),
            (4, None, TEXT),
            (4, 1, TEXT),
        ],
    )
    def test_lines_and_columns_count_from_one_in_characters(
        self, line: int | None, column: int | None, before: str
    ) -> None:
        assert TEXT[: cursor_offset(TEXT, Target("a.py", line, column))] == before

    @pytest.mark.parametrize(("line", "column"), [(0, None), (5, None), (99, 1), (1, 0), (1, 4), (2, 6)])
    def test_outside_is_a_usage_error_that_names_the_length(self, line: int, column: int | None) -> None:
        with pytest.raises(UsageError, match=r"a\.py has 3 lines"):
            cursor_offset(TEXT, Target("a.py", line, column))

    def test_an_empty_file_has_one_place(self) -> None:
        assert cursor_offset("", Target("e.py")) == cursor_offset("", Target("e.py", 1, 1)) == 0


class TestCommand:
    def test_only_the_inserted_text_without_a_newline(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "a.py:1"], [" + 1\nb"])
        assert (result.code, result.out, result.err) == (0, " + 1\nb", "")
        request = scripted.assistants[0].requests[0]
        assert (request.place.prefix, request.place.suffix, request.messages) == ("ab", "\ncdé漢\nx\n", ())
        assert request.max_tokens == 128

    def test_the_default_is_the_end_of_the_file(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["complete", "a.py"])
        assert scripted.assistants[0].requests[0].place.suffix == ""

    def test_a_byte_order_mark_is_no_text(self, folder: Path, scripted: Scripted) -> None:
        (folder / "b.py").write_bytes(b"\xef\xbb\xbfx = 1")
        scripted.run(["complete", "b.py:1:2"])
        assert scripted.assistants[0].requests[0].place.prefix == "x"

    def test_stdin_is_a_file_named_dash(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["complete", "-"], stdin=b"def f(")
        assert scripted.assistants[0].requests[0].place.prefix == "def f("

    def test_piped_stdin_is_not_read_otherwise(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["complete", "a.py"], stdin=b"other")
        assert "other" not in scripted.assistants[0].requests[0].place.prefix

    @pytest.mark.parametrize("place", ["a.py:9", "a.py:1:9", "missing.py", ".", "a.py:-1"])
    def test_a_wrong_place_is_exit_2_before_a_model_is_made(self, folder: Path, scripted: Scripted, place: str) -> None:
        result = scripted.run(["complete", place])
        assert result.code == 2
        assert result.err.count("\n") == 1
        assert not scripted.assistants

    @pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
    def test_what_may_have_no_end_is_refused_unread(self, folder: Path, scripted: Scripted) -> None:
        os.mkfifo(folder / "pipe")
        for path in ("pipe", "/dev/zero"):
            result = scripted.run(["complete", path])
            assert (result.code, result.out) == (2, "")
            assert result.err == f"lacli: error: {path} is not a regular file; pipe it into `lacli complete -`\n"

    def test_a_binary_file_is_refused_and_utf_16_is_text(self, folder: Path, scripted: Scripted) -> None:
        (folder / "a.bin").write_bytes(b"ELF\0\1\2")
        assert scripted.run(["complete", "a.bin"]).err == "lacli: error: a.bin is a binary file; give a file of text\n"
        (folder / "a.bin").write_bytes("x = ".encode("utf-16"))
        scripted.run(["complete", "a.bin"])
        assert scripted.assistants[-1].requests[-1].place.prefix == "x = "

    def test_a_file_beyond_any_context_is_refused_unread(self, folder: Path, scripted: Scripted) -> None:
        with open(folder / "huge", "wb") as file:
            file.truncate(1 << 40)
        assert scripted.run(["complete", "huge"]).code == 5

    def test_an_empty_completion_is_exit_0_and_a_note(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "a.py"], [""])
        assert (result.code, result.out, result.err) == (0, "", "lacli: nothing to insert here\n")

    def test_json_names_the_place(self, folder: Path, scripted: Scripted) -> None:
        document = json.loads(scripted.run(["complete", "a.py:1:2", "--json"], ["x"]).out)
        assert (document["text"], document["file"], document["offset"]) == ("x", "a.py", 1)


def test_a_long_file_is_shown_around_the_cursor_only() -> None:
    text = "".join(f"line {number}\r\n" for number in range(1000))
    offset = text.index("line 600")
    prefix, suffix = around(text, offset)
    assert prefix.startswith("line 345\n")
    assert prefix.endswith("line 599\n")
    assert suffix.startswith("line 600\n")
    assert suffix.endswith("line 663")
    assert around("a\nb", 2) == ("a\n", "b")
