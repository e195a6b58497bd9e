"""Files that go with a question (T1, F7 of the cases; ux.md §1: `-f`, `@path`)."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from lacli.errors import LacliError, PromptTooLong, UsageError
from lacli.events import Attachment
from lacli.prompts import attach
from lacli.prompts.attach import attached


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with files of several kinds."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("a = 1\n")
    (tmp_path / "my notes.md").write_text("# Notes\n")
    (tmp_path / "漢🚀.txt").write_text("kanji\n", encoding="utf-8")
    (tmp_path / "b:12.txt").write_text("colon\n")
    (tmp_path / "src").mkdir()
    return tmp_path


def labels(text: str) -> list[str]:
    return [each.label for each in attached(text)[1]]


class TestMentions:
    def test_a_path_that_exists_is_attached_and_stays_as_a_word(self) -> None:
        words, found = attached("what does @a.py do?")
        assert words == "what does a.py do?"
        assert found == (Attachment("a.py", "a = 1\n"),)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("see @a.py.", "see a.py."),
            ("(@a.py)", "(a.py)"),
            ("@a.py's name", "a.py's name"),
            ("line @a.py:12, why?", "line a.py:12, why?"),
            ("`@a.py`", "`a.py`"),
            ('read @"my notes.md"!', "read my notes.md!"),
            ("read @'my notes.md'", "read my notes.md"),
            ("read @my\\ notes.md now", "read my notes.md now"),
            ("@漢🚀.txt?", "漢🚀.txt?"),
            ("@b:12.txt", "b:12.txt"),
            ("@./a.py", "./a.py"),
        ],
    )
    def test_is_found_among_punctuation_quotes_and_blanks(self, text: str, words: str) -> None:
        found, attachments = attached(text)
        assert found == words
        assert len(attachments) == 1

    @pytest.mark.parametrize(
        "text",
        ["me@a.py", "@property", "a @ b", "@", "@@", "@nothing.py", "@src", "x@y.z @ @, @.", "@dataclass(a.py)", "@\0"],
    )
    def test_anything_else_stays_text(self, text: str) -> None:
        assert attached(text) == (text, ())

    def test_a_backslash_keeps_it_text_and_goes(self) -> None:
        assert attached("\\@a.py and \\@property") == ("@a.py and @property", ())

    def test_a_folder_is_not_shown_and_that_is_said_where_one_is_meant(self) -> None:
        notes: list[str] = []
        assert attached("look into @src/ and @src", note=notes.append) == ("look into @src/ and @src", ())
        assert notes == ["@src/ is a folder and is not shown; name files in it"]

    @pytest.mark.parametrize(
        ("text", "missing"),
        [
            ("what is @nope.py?", "nope.py"),
            ("(@src/nope.go's end)", "src/nope.go"),
            ('see @"no notes.md"', "no notes.md"),
            ("@property @app.get('/x') @babel/core @a.b me@nope.py \\@nope.py", ""),
        ],
    )
    def test_a_name_of_a_file_that_is_not_there_is_told(self, text: str, missing: str) -> None:
        notes: list[str] = []
        assert attached(text, note=notes.append)[1] == ()
        assert notes == ([f"there is no file {missing}; @{missing} stays a word of the question"] if missing else [])

    def test_the_same_file_is_attached_once(self) -> None:
        assert labels("@a.py @./a.py @a.py") == ["a.py"]
        assert [each.label for each in attached("@a.py", ["./a.py"])[1]] == ["./a.py"]


class TestFiles:
    def test_come_in_their_order_before_those_of_the_words(self) -> None:
        _, found = attached('@"my notes.md"', ["漢🚀.txt", "a.py"])
        assert [each.label for each in found] == ["漢🚀.txt", "a.py", "my notes.md"]

    def test_a_dash_is_stdin_at_its_place(self) -> None:
        _, found = attached("x", ["a.py", "-", "b:12.txt"], stdin=lambda: "piped")
        assert [each.label for each in found] == ["a.py", "stdin", "b:12.txt"]
        assert found[1].text == "piped"

    def test_encodings_are_known_and_line_ends_are_one_kind(self, files: Path) -> None:
        notes: list[str] = []
        (files / "l").write_bytes("# café\r\nx\n".encode("latin-1"))
        (files / "u8").write_bytes("\ufeff漢\n".encode())
        (files / "u16").write_bytes("漢\r\n".encode("utf-16"))
        (files / "u32").write_bytes("漢\n".encode("utf-32"))
        _, found = attached("", ["l", "u8", "u16", "u32"], notes.append)
        assert [each.text for each in found] == ["# café\nx\n", "漢\n", "漢\n", "漢\n"]
        assert notes == ["l is not all UTF-8: 1 byte was read as Latin-1"]

    def test_an_empty_one_is_said_to_be(self, files: Path) -> None:
        notes: list[str] = []
        (files / "e").write_bytes(b"\n")
        attached("", ["e"], notes.append)
        assert notes == ["e is empty"]

    def test_a_name_that_is_no_utf_8_has_a_label_that_can_be_written(self, files: Path) -> None:
        try:
            (files / "n\udcff.py").write_text("x = 1")
        except (OSError, UnicodeError):
            pytest.skip("this file system takes no such names")
        _, (found,) = attached("", ["n\udcff.py"])
        assert found == Attachment("n?.py", "x = 1")

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            ("missing", "there is no file missing"),
            ("src", "src is a folder"),
            ("src/", "src/ is a folder"),
            ("a.py/x", "a.py/x cannot be read: Not a directory"),
            ("a\0b", "there is no file 'a\\x00b'"),
            ("x" * 300, "cannot be read: File name too long"),
            ("bin", "bin is a binary file"),
            (os.devnull, f"{os.devnull} is not a regular file"),
        ],
    )
    def test_what_cannot_be_shown_is_one_line(self, files: Path, path: str, words: str) -> None:
        (files / "bin").write_bytes(b"\x7fELF\0\1")
        with pytest.raises(UsageError) as caught:
            attached("", [path])
        assert words in caught.value.message
        assert caught.value.hint

    def test_a_file_that_may_not_be_read_says_so(self, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*arguments: object) -> int:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)
        with pytest.raises(UsageError, match=r"a\.py cannot be read: Permission denied"):
            attached("", ["a.py"])

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_a_named_pipe_is_read_where_it_was_given_and_not_where_a_word_is_its_name(self, files: Path) -> None:
        os.mkfifo(files / "pipe")
        with pytest.raises(UsageError, match="not a regular file"):
            attached("@pipe")
        thread = threading.Thread(target=(files / "pipe").write_text, args=("diff\n",))
        thread.start()
        assert attached("", ["pipe"]) == ("", (Attachment("pipe", "diff\n"),))
        thread.join()

    @pytest.mark.skipif(not os.path.exists("/dev/fd/0"), reason="no /dev/fd here")
    def test_what_a_shell_substitutes_for_a_command_is_read_to_its_end(self) -> None:
        reader, writer = os.pipe()

        def write() -> None:
            os.write(writer, b"diff\n" * 30_000)
            os.close(writer)

        thread = threading.Thread(target=write)
        thread.start()
        _, (found,) = attached("", [f"/dev/fd/{reader}"])
        thread.join()
        os.close(reader)
        assert found == Attachment("pipe", "diff\n" * 30_000)

    def test_a_huge_one_is_not_read(self, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attach, "MOST_BYTES", 5)
        for text in ("", "@a.py"):
            with pytest.raises(PromptTooLong, match=r"a\.py has 6 bytes") as caught:
                attached(text, ["a.py"])
            assert isinstance(caught.value, LacliError)
