"""`lacli complete`: where the cursor is, what surrounds it, and nothing but the inserted text on stdout."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lacli.cli.complete.cursor import CursorTarget, insert_range, parse_target, with_place
from lacli.edits.write.textfile import TextFile
from lacli.errors import PromptTooLong, UsageError
from lacli.events import Event, Finished, ReplyStats
from tests.cli.conftest import Scripted

TEXT = "ab\ncdé漢\r\nx\n"
READ = "ab\ncdé漢\nx\n"
NOTHING = (
    "lacli: nothing to insert here; --alternatives 3 tries other beginnings; a comment before the cursor tells the "
    "model what is missing; -m qwen2.5-coder-1.5b takes a real coding model\n"
)
NO_ALTERNATIVE = NOTHING.replace("--alternatives 3 tries other beginnings; ", "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_bytes(TEXT.encode())
    return tmp_path


@contextlib.contextmanager
def poured(fifo: Path, data: bytes) -> Iterator[int]:
    """Somebody who writes this to a named pipe, and once to what a shell would substitute for its command."""
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)

    def pour() -> None:
        with contextlib.suppress(OSError), open(fifo, "wb") as pipe:
            pipe.write(data)

    thread = threading.Thread(target=pour, daemon=True)
    thread.start()
    try:
        yield reader
    finally:
        os.close(reader)
        with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb"):  # where nobody else has opened it
            thread.join()


class TestParseTarget:
    def test_line_and_column_are_read_from_the_right(self, folder: Path) -> None:
        assert parse_target("a.py") == CursorTarget("a.py")
        assert parse_target("a.py:3") == CursorTarget("a.py", 3)
        assert parse_target("a.py:3:4") == CursorTarget("a.py", 3, 4)
        assert parse_target("C:\\b.py:3:4") == CursorTarget("C:\\b.py", 3, 4)
        assert parse_target("-") == CursorTarget("-")
        assert parse_target("-:2:1") == CursorTarget("-", 2, 1)

    def test_an_existing_name_wins(self, folder: Path) -> None:
        (folder / "a.py:3").touch()
        assert parse_target("a.py:3") == CursorTarget("a.py:3")
        assert parse_target("a.py:3:4") == CursorTarget("a.py:3", 4)
        assert parse_target("a.py:3:4:5") == CursorTarget("a.py:3", 4, 5)
        (folder / "a.py:3:4").touch()
        assert parse_target("a.py:3:4") == CursorTarget("a.py:3:4")

    def test_options_give_the_place_once(self) -> None:
        assert with_place(CursorTarget("a"), "3:4", None, None) == CursorTarget("a", 3, 4)
        assert with_place(CursorTarget("a"), "3", None, None) == CursorTarget("a", 3)
        assert with_place(CursorTarget("a"), None, 7, None) == CursorTarget("a", byte=7)
        assert with_place(CursorTarget("a"), None, None, "@@") == CursorTarget("a", marker="@@")
        for at, offset, marker in (("3", 7, None), ("3", None, "x"), ("x", None, None), (None, None, "")):
            with pytest.raises(UsageError):
                with_place(CursorTarget("a"), at, offset, marker)
        with pytest.raises(UsageError, match="a has a place of its own besides --at"):
            with_place(CursorTarget("a", 1), "3", None, None)


def offset(target: CursorTarget, text: str = TEXT) -> int:
    return insert_range(TextFile.of_bytes(text.encode(), "a.py"), target).start


class TestSpot:
    @pytest.mark.parametrize(
        ("line", "column", "before"),
        [
            (None, None, READ),
            (1, None, "ab"),
            (1, 1, ""),
            (1, 3, "ab"),
            (2, 4, "ab\ncdé"),
            (2, None, "ab\ncdé漢"),
            (2, 5, "ab\ncdé漢"),
            (3, None, "ab\ncdé漢\nx"),
            (4, None, READ),
            (4, 1, READ),
        ],
    )
    def test_lines_and_columns_count_from_one_in_characters(
        self, line: int | None, column: int | None, before: str
    ) -> None:
        assert READ[: offset(CursorTarget("a.py", line, column))] == before

    @pytest.mark.parametrize(("line", "column"), [(0, None), (5, None), (99, 1), (1, 0), (1, 4), (2, 6)])
    def test_outside_is_a_usage_error_that_names_the_length(self, line: int, column: int | None) -> None:
        with pytest.raises(UsageError, match=r"a\.py has 3 lines"):
            offset(CursorTarget("a.py", line, column))

    def test_an_empty_file_has_one_place(self) -> None:
        assert offset(CursorTarget("e.py"), "") == offset(CursorTarget("e.py", 1, 1), "") == 0

    def test_bytes_are_counted_in_the_file_as_it_is(self) -> None:
        for byte, before in ((0, ""), (3, "ab\n"), (7, "ab\ncdé"), (10, "ab\ncdé漢"), (12, "ab\ncdé漢\n"), (14, READ)):
            assert READ[: offset(CursorTarget("a.py", byte=byte))] == before
        assert offset(CursorTarget("a.py", byte=3), "\ufeffab") == 0
        assert offset(CursorTarget("a.py", byte=4), "\ufeffab") == 1
        with pytest.raises(UsageError, match=r"byte 8 of a\.py is inside a character"):
            offset(CursorTarget("a.py", byte=8))
        with pytest.raises(UsageError, match=r"a\.py has 14 bytes, so there is no byte 15"):
            offset(CursorTarget("a.py", byte=15))

    def test_a_marker_stands_once_and_is_replaced(self) -> None:
        insert_at = insert_range(TextFile.of_bytes(b"f(<HERE>)", "a.py"), CursorTarget("a.py", marker="<HERE>"))
        assert (insert_at.start, insert_at.end) == (2, 8)
        for text, found in (("f()", "no '<HERE>'"), ("<HERE><HERE>", "'<HERE>' 2 times")):
            with pytest.raises(UsageError, match=f"a.py has {found}"):
                offset(CursorTarget("a.py", marker="<HERE>"), text)


class TestText:
    def test_only_the_inserted_text_without_a_newline(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "a.py:1"], [" + 1\nb"])
        assert (result.code, result.out, result.err) == (0, " + 1\nb", "")
        request = scripted.assistants[0].requests[0]
        assert (request.place.prefix, request.place.suffix, request.messages) == ("ab", "\ncdé漢\nx\n", ())
        assert (request.place.path, request.place.scope, request.max_tokens) == ("a.py", "block", 128)

    def test_the_default_is_the_end_of_the_file(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["complete", "a.py"])
        assert scripted.assistants[0].requests[0].place.suffix == ""

    def test_a_byte_order_mark_is_no_text(self, folder: Path, scripted: Scripted) -> None:
        (folder / "b.py").write_bytes(b"\xef\xbb\xbfx = 1")
        scripted.run(["complete", "b.py:1:2"])
        assert scripted.assistants[0].requests[0].place.prefix == "x"

    def test_stdin_is_a_file_named_dash(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["complete", "-", "--stdin-filename", "x/b.go"], stdin=b"func f(")
        place = scripted.assistants[0].requests[0].place
        assert (place.prefix, place.path) == ("func f(", "x/b.go")
        scripted.run(["complete", "-", "--at", "1:3"], stdin=b"def f(")
        assert scripted.assistants[-1].requests[0].place.prefix == "de"

    def test_piped_stdin_is_not_read_otherwise(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["complete", "a.py"], stdin=b"other")
        assert "other" not in scripted.assistants[0].requests[0].place.prefix

    def test_empty_files_have_a_place(self, folder: Path, scripted: Scripted) -> None:
        """Case F5."""
        for data in (b"", b"\n", b"  \n\t\n", b"\xef\xbb\xbf"):
            (folder / "e.py").write_bytes(data)
            for at in ([], [":1:1"]):
                result = scripted.run(["complete", "e.py" + "".join(at)], ["x = 1"])
                assert (result.code, result.out) == (0, "x = 1")
        assert scripted.run(["complete", "-"], ["x"], stdin=b"").out == "x"

    def test_an_empty_completion_is_exit_0_and_a_note(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "a.py"], [""])
        assert (result.code, result.out, result.err) == (0, "", NOTHING)

    @pytest.mark.parametrize("several", [[], ["--alternatives", "2"]])
    def test_an_empty_completion_that_ran_to_its_end_is_said_once(
        self, folder: Path, scripted: Scripted, several: list[str]
    ) -> None:
        stats = ReplyStats(predicted_n=7, finish_reason="length")
        empty = Finished("", (1,), "length", stats)
        result = scripted.run(["complete", "a.py", "-n", "7", *several], [[empty]] * 2)
        assert (result.code, result.err) == (0, NO_ALTERNATIVE if several else NOTHING)
        shown = scripted.run(["complete", "a.py", "-n", "7", "--stats"], [[empty]]).err.splitlines()
        assert json.loads(shown[-1])["finish_reason"] == "length"

    def test_options_shape_the_place(self, folder: Path, scripted: Scripted) -> None:
        options = ["--scope", "line", "--max-lines", "3", "--language", "rust", "-n", "9"]
        scripted.run(["complete", "a.py:1", *options, "--prefix-lines", "5", "--suffix-lines", "0"])
        request = scripted.assistants[0].requests[0]
        place = request.place
        assert (place.scope, place.max_lines, place.language, request.max_tokens) == ("line", 3, "rust", 9)
        assert (place.lines_before, place.lines_after) == (5, 0)

    def test_the_turn_is_kept_without_the_file(self, folder: Path, scripted: Scripted) -> None:
        scripted.run(["complete", "a.py:1"], ["z"])
        from lacli.project.root import project_root
        from lacli.sessions.store import SessionStore, path

        session = SessionStore(path()).latest(project_root(folder), ("complete",))
        assert session is not None
        assert [(turn.question.text, turn.answer.text) for turn in session.turns] == [("a.py:1:3", "z")]
        assert "cd" not in repr(replace(session, id=""))


class TestRefusals:
    @pytest.mark.parametrize("place", ["a.py:9", "a.py:1:9", "missing.py", ".", "a.py:-1"])
    def test_a_wrong_place_is_exit_2_before_a_model_is_made(self, folder: Path, scripted: Scripted, place: str) -> None:
        result = scripted.run(["complete", place])
        assert result.code == 2
        assert result.err.count("\n") == 1
        assert not scripted.assistants

    @pytest.mark.parametrize(
        "options",
        [
            ["--scope", "word"],
            ["--language", "klingon"],
            ["--diff", "--full"],
            ["--backup", ".bak"],
            ["--context", "nowhere"],
            ["--at", "1", "--offset", "2"],
            ["--offset", "-1"],
        ],
    )
    def test_options_that_make_no_sense_are_exit_2(self, folder: Path, scripted: Scripted, options: list[str]) -> None:
        result = scripted.run(["complete", "a.py", *options])
        assert (result.code, result.out) == (2, "")
        assert result.err.count("\n") == 1
        assert not scripted.assistants

    def test_stdin_cannot_be_changed_in_place(self, folder: Path, scripted: Scripted) -> None:
        assert scripted.run(["complete", "-", "--in-place"], stdin=b"x").code == 2

    @pytest.mark.skipif(sys.platform == "win32", reason="needs devices")
    def test_what_may_have_no_end_is_refused_unread(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "/dev/zero"])
        assert (result.code, result.out) == (2, "")
        assert "/dev/zero is not a regular file" in result.err

    @pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
    def test_a_pipe_of_any_name_is_read_and_cannot_be_changed_in_place(self, folder: Path, scripted: Scripted) -> None:
        os.mkfifo(folder / "pipe")
        for path in ("pipe:1", "substituted:1"):
            with poured(folder / "pipe", b"x = \ny\n") as reader:
                place = path.replace("substituted", f"/dev/fd/{reader}")
                assert scripted.run(["complete", place, "--full"], ["1"]).out == "x = 1\ny\n"
            with poured(folder / "pipe", b"x = \ny\n") as reader:
                place = path.replace("substituted", f"/dev/fd/{reader}")
                result = scripted.run(["complete", place, "--in-place"])
            assert (result.code, result.err.count("\n")) == (2, 1)
            assert "is no file that could be changed; leave out --in-place" in result.err
            assert not scripted.assistants[1:]
            scripted.assistants.clear()

    def test_standard_input_by_its_path_is_what_a_dash_is(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "/dev/stdin", "--in-place"], stdin=b"x")
        assert result.err.startswith("lacli: error: stdin cannot be changed in place")

    def test_a_binary_file_is_refused_and_utf_16_is_text(self, folder: Path, scripted: Scripted) -> None:
        (folder / "a.bin").write_bytes(b"ELF\0\1\2")
        assert scripted.run(["complete", "a.bin"]).err == "lacli: error: a.bin is a binary file; give a file of text\n"
        (folder / "a.bin").write_bytes("x = ".encode("utf-16"))
        scripted.run(["complete", "a.bin"])
        assert scripted.assistants[-1].requests[-1].place.prefix == "x = "

    def test_a_file_beyond_any_context_is_refused(self, folder: Path, scripted: Scripted) -> None:
        with open(folder / "huge", "wb") as file:
            file.truncate(1 << 40)
        assert scripted.run(["complete", "huge"]).code == 5


class TestWhatIsDoneWithIt:
    def test_json_names_the_place(self, folder: Path, scripted: Scripted) -> None:
        document = json.loads(scripted.run(["complete", "a.py:2:5", "--json"], ["x"]).out)
        assert (document["text"], document["file"], document["offset"]) == ("x", "a.py", 7)
        assert document["range"] == {"start": {"line": 2, "column": 5}, "end": {"line": 2, "column": 5}}
        assert document["bytes"] == [10, 10]
        assert document["finish_reason"] == "stop"
        assert document["stats"]["predicted_n"] == 1

    def test_full_keeps_every_other_byte(self, folder: Path, scripted: Scripted, capfdbinary: object) -> None:
        result = scripted.run(["complete", "a.py:2", "--full"], ["\nnew"])
        assert result.out == "ab\ncdé漢\r\nnew\r\nx\n"
        assert scripted.run(["complete", "-", "--full", "--marker", "<>"], ["b"], stdin=b"a<>c").out == "abc"

    @pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
    @pytest.mark.parametrize("data", [TEXT.encode(), b"ab", b"\xef\xbb\xbfab\r\n", b"ab\r\ncd\n", b""])
    def test_the_diff_applies(self, folder: Path, scripted: Scripted, data: bytes) -> None:
        (folder / "my file.py").write_bytes(data)
        diff = scripted.run(["complete", "my file.py:1", "--diff"], [" + 1\ny"]).out.encode()
        subprocess.run(["patch", "-p0", "--binary"], input=diff, check=True, capture_output=True)
        text = (folder / "my file.py").read_bytes()
        assert scripted.run(["complete", "my file.py:1", "--diff"], [""]).out == ""
        (folder / "my file.py").write_bytes(data)
        scripted.run(["complete", "my file.py:1", "--in-place", "--backup", ".old"], [" + 1\ny"])
        assert (folder / "my file.py").read_bytes() == text
        assert (folder / "my file.py.old").read_bytes() == data

    def test_an_encoding_is_kept(self, folder: Path, scripted: Scripted) -> None:
        (folder / "l.py").write_bytes(b"caf\xe9 = 1\r\nx\r\n")
        assert scripted.run(["complete", "l.py:1", "--in-place"], ["0\né"]).code == 0
        assert (folder / "l.py").read_bytes() == b"caf\xe9 = 10\r\n\xe9\r\nx\r\n"
        assert scripted.run(["complete", "l.py:1", "--in-place"], ["漢"]).code == 2
        assert (folder / "l.py").read_bytes() == b"caf\xe9 = 10\r\n\xe9\r\nx\r\n"

    def test_in_place_says_what_it_did_and_prints_nothing(self, folder: Path, scripted: Scripted) -> None:
        os.chmod("a.py", 0o640)
        result = scripted.run(["complete", "a.py:3", "--in-place"], ["y\nz"])
        assert (result.code, result.out) == (0, "")
        assert result.err == "lacli: a.py:3:2: 2 lines inserted\n"
        assert (folder / "a.py").read_bytes() == TEXT.replace("x", "xy\nz").encode()
        assert os.stat("a.py").st_mode & 0o777 == 0o640
        assert "py:1:3: 1 line inserted" in scripted.run(["complete", "a.py:1", "--in-place"], ["\nq\n"]).err
        assert scripted.run(["complete", "a.py:3", "--in-place"], [""]).err == NOTHING

    def test_a_read_only_file_is_refused_before_a_model_is_made(self, folder: Path, scripted: Scripted) -> None:
        os.chmod("a.py", 0o444)
        assert scripted.run(["complete", "a.py", "--in-place"]).code == 2
        assert not scripted.assistants

    def test_a_dry_run_prints_the_prompt(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "a.py:1", "--dry-run"])
        assert (result.code, result.out.strip()) == (0, "ab")


class TestSeveralFiles:
    def test_the_model_is_loaded_once_and_each_has_its_text(self, folder: Path, scripted: Scripted) -> None:
        (folder / "b.py").write_text("q\n")
        result = scripted.run(["complete", "a.py:1", "b.py:1", "--json"], ["x", "y"])
        assert [json.loads(line)["text"] for line in result.out.splitlines()] == ["x", "y"]
        assert len(scripted.assistants) == 1
        result = scripted.run(["complete", "a.py:1", "b.py:1"], ["x", "y"])
        assert result.out == "==> a.py:1:3 <==\nx\n==> b.py:1:2 <==\ny\n"

    def test_an_error_of_one_does_not_stop_the_others(self, folder: Path, scripted: Scripted) -> None:
        (folder / "b.py").write_text("q\n")
        result = scripted.run(["complete", "a.py:1", "gone.py", "b.py:7", "b.py:1", "--in-place"], ["x", "y"])
        assert result.code == 2
        assert [line.split(";")[0] for line in result.err.splitlines()] == [
            "lacli: error: there is no file gone.py",
            "lacli: error: b.py has 1 line, so there is no line 7",
            "lacli: a.py:1:3: 1 line inserted",
            "lacli: b.py:1:2: 1 line inserted",
        ]
        assert (folder / "b.py").read_text() == "qy\n"

    def test_two_places_of_one_file_are_refused_where_the_second_would_move(
        self, folder: Path, scripted: Scripted
    ) -> None:
        for option in ("--diff", "--in-place"):
            result = scripted.run(["complete", "a.py:1", "./a.py:3", option])
            assert (result.code, "./a.py is given twice" in result.err, scripted.assistants) == (2, True, [])
        assert scripted.run(["complete", "a.py:1", "a.py:3"], ["x", "y"]).code == 0

    def test_where_none_can_be_read_no_model_is_loaded(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "gone.py", "lost.py"])
        assert (result.code, result.err.count("\n")) == (2, 2)


def test_a_long_line_is_cut_to_what_can_matter(folder: Path, scripted: Scripted) -> None:
    """Case F7."""
    (folder / "m.min.js").write_text("var a=1;" * 40_000)
    scripted.run(["complete", "m.min.js:1:150000"])
    place = scripted.assistants[0].requests[0].place
    assert len(place.prefix) + len(place.suffix) < 200_000


def told(text: str, likelihood: float) -> list[Event]:
    """The events of one of several texts."""
    stats = ReplyStats(predicted_n=1, finish_reason="stop")
    return [Finished(text, (1,) if text else (), "stop", stats, likelihood=likelihood)]


class TestAlternatives:
    SCRIPTS = (told("b c", -2.0), told("a\n  d\n", -1.0), told("", -0.1), told("b  c\n", -0.5))

    def test_they_are_told_apart_best_first_and_each_once(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "a.py:1", "--alternatives", "4"], self.SCRIPTS)
        assert result.code == 0
        assert result.out == "==> a.py:1:3 (1 of 2) <==\nb  c\n==> a.py:1:3 (2 of 2) <==\na\n  d\n"
        assert result.err == "lacli: only 2 different texts: the others say the same, or nothing\n"
        assert [each.beginning for each in scripted.assistants[0].requests] == [0, 1, 2, 3]
        assert {each.begins_again for each in scripted.assistants[0].requests} == {False}

    def test_json_has_them_all(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "a.py:1", "--alternatives", "4", "--json"], self.SCRIPTS)
        record = json.loads(result.out)
        assert record["alternatives"] == ["b  c\n", "a\n  d\n"]
        assert record["text"] == "b  c\n"

    def test_those_with_which_the_file_does_not_parse_come_last(self, folder: Path, scripted: Scripted) -> None:
        (folder / "b.py").write_text("x = \ny = 1\n")
        scripts = (told("f(", -0.1), told("2", -2.0), told("g)", -0.2), told("1", -1.0))
        record = json.loads(scripted.run(["complete", "b.py:1", "--alternatives", "4", "--json"], scripts).out)
        assert record["alternatives"] == ["1", "2", "f(", "g)"]
        assert record["text"] == "1"

    def test_where_all_say_nothing_that_is_said(self, folder: Path, scripted: Scripted) -> None:
        result = scripted.run(["complete", "a.py:1", "--alternatives", "2"], [told("", -1.0), told(" \n", -1.0)])
        assert (result.code, result.out, result.err) == (0, "", NO_ALTERNATIVE)

    @pytest.mark.parametrize("option", ["--full", "--diff", "--in-place"])
    def test_one_alone_goes_into_the_file(self, folder: Path, scripted: Scripted, option: str) -> None:
        result = scripted.run(["complete", "a.py:1", "--alternatives", "2", option])
        assert (result.code, scripted.assistants, "leave out one of them" in result.err) == (2, [], True)
        assert scripted.run(["complete", "a.py:1", "--alternatives", "1", option], ["x"]).code == 0
        for count in ("0", "9"):
            assert scripted.run(["complete", "a.py:1", "--alternatives", count]).code == 2

    def test_a_failure_of_all_is_the_commands(self, folder: Path, scripted: Scripted) -> None:
        failure = PromptTooLong("too long", "shorten it")
        result = scripted.run(["complete", "a.py:1", "--alternatives", "2"], [failure, failure])
        assert (result.code, result.out) == (5, "")


def test_a_single_completion_is_begun_again_where_nothing_is_left(folder: Path, scripted: Scripted) -> None:
    scripted.run(["complete", "a.py:1"])
    assert [each.begins_again for each in scripted.assistants[0].requests] == [True]


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Sums"]},
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [{"data": {"image/png": "iVBORw0KGgo="}, "output_type": "display_data"}],
            "source": ["x = \n", "print(x)"],
        },
    ],
    "metadata": {},
    "nbformat": 4,
}


class TestNotebook:
    @pytest.fixture
    def lines(self, folder: Path) -> list[str]:
        text = json.dumps(NOTEBOOK, indent=1)
        (folder / "n.ipynb").write_text(text)
        return text.splitlines()

    def test_the_model_sees_cells_and_the_file_stays_a_notebook(
        self, folder: Path, lines: list[str], scripted: Scripted
    ) -> None:
        line = lines.index('    "x = \\n",') + 1
        result = scripted.run(["complete", f"n.ipynb:{line}", "--in-place"], ['"a"\ny = 2'])
        assert (result.code, result.err) == (0, f"lacli: n.ipynb:{line}:{len(lines[line - 1]) + 1}: 2 lines inserted\n")
        place = scripted.assistants[0].requests[0].place
        assert (place.prefix, place.suffix) == ("# %% [markdown]\n# # Sums\n# %%\nx = ", "\nprint(x)\n")
        assert (place.language, place.boundary) == ("python", "# %%")
        after = json.loads((folder / "n.ipynb").read_text())
        assert after["cells"][1].pop("source") == ['x = "a"\n', "y = 2\n", "print(x)"]
        assert after["cells"][1]["outputs"] == NOTEBOOK["cells"][1]["outputs"]

    def test_its_end_is_that_of_the_last_cell_of_code(self, folder: Path, lines: list[str], scripted: Scripted) -> None:
        scripted.run(["complete", "n.ipynb", "--in-place"], ["\nz"])
        assert json.loads((folder / "n.ipynb").read_text())["cells"][1]["source"] == ["x = \n", "print(x)\n", "z"]

    def test_a_marker_stands_in_a_cell(self, folder: Path, lines: list[str], scripted: Scripted) -> None:
        result = scripted.run(["complete", "n.ipynb", "--marker", "print(x)", "--diff"], ["f(x)"])
        assert '-    "print(x)"\n+    "f(x)"\n' in result.out

    def test_elsewhere_there_is_no_place(self, folder: Path, lines: list[str], scripted: Scripted) -> None:
        line = next(number for number, line in enumerate(lines, start=1) if "iVBOR" in line)
        result = scripted.run(["complete", f"n.ipynb:{line}"])
        assert (result.code, scripted.assistants) == (2, [])
        assert "is not in the source of a cell" in result.err


class TestData:
    @pytest.mark.parametrize(
        ("name", "text", "line", "good", "bad"),
        [
            ("a.json", '{\n "a": 1,\n "b": 2\n}\n', "2", '\n "c": 3,', '\n "c": 3'),
            ("a.toml", 'a = 1\nb = "x"\n', "1", "\nc = 2", "\nc ="),
            ("a.yaml", "a:\n  - b\nc: d\n", "2", "\n  - e", "\n  - [e"),
        ],
    )
    def test_what_a_program_reads_stays_valid(
        self, folder: Path, scripted: Scripted, name: str, text: str, line: str, good: str, bad: str
    ) -> None:
        (folder / name).write_text(text)
        for option in ("--in-place", "--full", "--diff"):
            result = scripted.run(["complete", f"{name}:{line}", option], [bad])
            assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
            assert "would no longer be valid" in result.err
            assert (folder / name).read_text() == text
        assert scripted.run(["complete", f"{name}:{line}"], [bad]).out == bad
        assert scripted.run(["complete", f"{name}:{line}", "--in-place"], [good]).code == 0
        assert good in (folder / name).read_text()

    def test_what_was_not_valid_before_may_be_written_on(self, folder: Path, scripted: Scripted) -> None:
        (folder / "a.json").write_text('{"a": ')
        assert scripted.run(["complete", "a.json", "--in-place"], ["[1,"]).code == 0
        assert (folder / "a.json").read_text() == '{"a": [1,'
