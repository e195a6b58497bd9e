"""What is begun at the cursor, and what fits there."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacli.chat import values
from lacli.chat.commands import commands, words
from lacli.chat.suggestions import COMMAND, MENTION, Partial, Suggester, Suggestion, partial
from lacli.prompts import saved

WORDS = words("tui")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("inventory.py", "two words.py", "src/inner.py", "src/deep/property.py", "tests/test_inventory.py"):
        (tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / name).write_text("x = 1\n")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


class TestWhichWord:
    @pytest.mark.parametrize(
        ("draft", "found"),
        [
            ("@", Partial(MENTION, "", 0, 0)),
            ("use the @inv", Partial(MENTION, "inv", 0, 8)),
            ("a\n(@src/", Partial(MENTION, "src/", 1, 1)),
            ('see @"two w', Partial(MENTION, "two w", 0, 4)),
            ("see @two\\ w", Partial(MENTION, "two w", 0, 4)),
            ("foo@bar.com", None),
            ("\\@x", None),
            ("@property is", None),
            ("@inv ", None),
            ("/", Partial(COMMAND, "", 0, 0)),
            ("/RE", Partial(COMMAND, "re", 0, 0)),
            ("/tmp/x", None),
            ("/x\ny", None),
            ("x\n/re", None),
            ("a /re", None),
            ("/model qw", Partial("model", "qw", 0, 7)),
            ("/save 2 a/b", Partial("n file", "a/b", 0, 8)),
            ("/file 2 a/b", Partial("file", "2 a/b", 0, 6)),
            ("/file two w", Partial("file", "two w", 0, 6)),
            ("/drop 1", None),
            ("/template name words", None),
            ("/undo x", None),
            ("/nosuch x", None),
        ],
    )
    def test_it_ends_at_the_cursor_and_begins_with_a_sign(self, draft: str, found: Partial | None) -> None:
        lines = draft.split("\n")
        assert partial(lines, len(lines) - 1, len(lines[-1]), WORDS) == found

    def test_in_the_middle_of_a_word_nothing_is_begun(self) -> None:
        assert partial(["@abc"], 0, 2, WORDS) is None
        assert partial(["(@abc)"], 0, 5, WORDS) == Partial(MENTION, "abc", 0, 1)
        assert partial(["/retry"], 0, 3, WORDS) is None

    def test_one_folder_that_hangs_is_not_asked_for_the_names_of_others(self) -> None:
        assert Partial("file", "./dead/x", 0, 6).source == "./dead/"
        assert Partial(MENTION, "src/in", 0, 0).source == "names"
        assert Partial("model", "a/b", 0, 7).source == "model"


class TestWhatFits:
    def found(self, project: Path, kind: str, typed: str, by_folder: bool = False) -> list[Suggestion]:
        return Suggester(project, WORDS, ["dark", "light"], by_folder).of(Partial(kind, typed, 0, 0))

    def of(self, project: Path, kind: str, typed: str, by_folder: bool = False) -> list[str]:
        return [each.text for each in self.found(project, kind, typed, by_folder)]

    def test_nothing_typed_offers_what_lies_here(self, project: Path) -> None:
        assert self.of(project, MENTION, "") == ["@src/", "@tests/", "@inventory.py ", '@"two words.py" ']
        assert self.of(project, MENTION, "src/") == ["@src/deep/", "@src/inner.py "]

    def test_letters_offer_files_that_begin_so_then_folders_then_the_others(self, project: Path) -> None:
        assert self.of(project, MENTION, "in") == ["@inventory.py ", "@src/inner.py ", "@tests/test_inventory.py "]
        assert self.of(project, MENTION, "s")[0] == "@src/"

    def test_by_folder_only_what_goes_on_so_is_offered(self, project: Path) -> None:
        assert self.of(project, MENTION, "in", by_folder=True) == ["@inventory.py"]
        assert self.of(project, MENTION, "two", by_folder=True) == ["@two\\ words.py"]
        assert self.of(project, "file", "two", by_folder=True) == ["two words.py"]
        assert self.of(project, "file", "src/", by_folder=True) == ["src/deep/", "src/inner.py"]

    def test_what_is_typed_whole_offers_nothing(self, project: Path) -> None:
        assert self.of(project, MENTION, "inventory.py") == ["@tests/test_inventory.py "] or not self.of(
            project, MENTION, "src/inner.py"
        )
        assert self.of(project, COMMAND, "undo") == []
        assert self.of(project, "theme", "dark") == []

    def test_all_commands_of_the_table_and_no_other(self, project: Path) -> None:
        offered = {each.split()[0] for each in self.of(project, COMMAND, "")}
        assert offered == {f"/{each.name}" for each in commands("tui")} | {"/quit", "/?"}

    def test_a_command_is_begun_by_its_letters_or_found_by_some_of_them(self, project: Path) -> None:
        (retry,) = self.found(project, COMMAND, "ret")
        assert retry == Suggestion("/retry", "/retry", "ask the last question again", (1, 2, 3), begun=True)
        (file,) = self.found(project, COMMAND, "fil")
        assert (file.text, file.title, file.goes_on) == ("/file ", "/file PATH", True)
        assert self.of(project, COMMAND, "cmpct") == ["/compact"]

    def test_behind_a_command_its_own(self, project: Path) -> None:
        saved.save(saved.Saved("review", prompt="Review $input"))
        assert self.of(project, "template", "re") == ["review "]
        assert self.of(project, "option", "temp") == ["temperature "]
        assert self.of(project, "theme", "l") == ["light"]
        assert "qwen2.5-coder-1.5b" in self.of(project, "model", "qwen2.5-coder-1")
        assert self.of(project, "file", "inv")[0] == "inventory.py"
        assert self.of(project, "file", f"{project}/sr") == [f"{project}/src/"]

    def test_a_new_file_is_written_without_a_question(self, project: Path) -> None:
        assert all(not each.begun for each in self.found(project, "n file", "inv"))
        assert self.found(project, "file", "inv")[0].begun

    def test_a_note_acts_on_no_terminal(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(values, "_sessions", lambda: [("abc", "a\x1b[31m\n b\u202ec")])
        (found,) = self.found(project, "session", "a")
        assert found.note == "a\ufffd[31m b<U+202E>c"
