"""`lacli templates`: what it prints, keeps and refuses (case P6 for its confirmations)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lacli.prompts import saved
from lacli.prompts.saved import Saved
from tests.cli.conftest import Program, Scripted, Terminal

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody sits at a terminal, wherever the tests are run."""
    monkeypatch.setattr("lacli.cli.terminal.confirm.open_terminal", lambda: None)


class TestList:
    def test_shows_names_and_beginnings(self, scripted: Scripted) -> None:
        saved.save(Saved("b", "One\ntwo " + "long " * 30))
        saved.save(Saved("aaa", system="Be brief"))
        expected = f"aaa  Be brief\nb    {('One two ' + 'long ' * 30)[:57]}...\n"
        assert scripted.run(["templates", "list"]).out == expected
        assert scripted.run(["templates"]).out == expected

    def test_json_has_all_of_them(self, scripted: Scripted) -> None:
        saved.save(Saved("t", "Say $input in $lang"))
        assert json.loads(scripted.run(["templates", "list", "--json"]).out) == [
            {"name": "t", "prompt": "Say $input in $lang", "system": "", "parameters": ["input", "lang"]}
        ]

    def test_none_is_no_failure(self, scripted: Scripted) -> None:
        result = scripted.run(["templates"])
        assert (result.code, result.out) == (0, "")
        assert result.err == f"lacli: there are no templates in {saved.folder()}\n"
        assert json.loads(scripted.run(["templates", "list", "--json"]).out) == []

    def test_a_broken_one_hides_no_other(self, scripted: Scripted) -> None:
        saved.save(Saved("t", "x"))
        (saved.folder() / "broken.toml").write_text("prompt = ")
        result = scripted.run(["templates"])
        assert (result.code, result.out) == (0, "t  x\n")
        assert "broken.toml:1" in result.err


class TestShow:
    def test_prints_the_file_as_it_is(self, scripted: Scripted) -> None:
        path = saved.save(Saved("t", "a\nb", "s", {}))
        result = scripted.run(["templates", "show", "t"])
        assert result.out == path.read_text() == 'prompt = """\na\nb"""\nsystem = "s"\n'
        document = json.loads(scripted.run(["templates", "show", "t", "--json"]).out)
        assert document["path"] == str(path)
        assert scripted.run(["templates", "path", "t"]).out == f"{path}\n"
        assert scripted.run(["templates", "path"]).out == f"{path.parent}\n"

    def test_an_unknown_one_is_exit_2(self, scripted: Scripted) -> None:
        for command in ("show", "rm", "path"):
            result = scripted.run(["templates", command, "nope"])
            assert result.code == 2
            assert "there is no template nope" in result.err


class TestSave:
    def test_takes_words_or_what_is_piped_in(self, scripted: Scripted) -> None:
        assert scripted.run(["templates", "save", "a", "Say", "$input", "-s", "Be $x"], stdin=b"ignored").code == 0
        assert scripted.run(["templates", "save", "b"], stdin="Ünder $input\n".encode()).code == 0
        assert (saved.load("a"), saved.load("b").prompt) == (Saved("a", "Say $input", "Be $x"), "Ünder $input")

    def test_replaces_one_only_where_that_is_confirmed(self, scripted: Scripted) -> None:
        saved.save(Saved("a", "old"))
        result = scripted.run(["templates", "save", "a", "new"])
        assert result.code == 2
        assert "nobody is here to answer 'there is a template a; replace it?'; add --yes" in result.err
        assert "--yes" in result.err
        assert saved.load("a").prompt == "old"
        assert scripted.run(["templates", "save", "a", "new", "--yes"]).code == 0
        assert saved.load("a").prompt == "new"

    def test_nothing_is_no_template(self, scripted: Scripted) -> None:
        assert scripted.run(["templates", "save", "a"]).code == 2
        assert scripted.run(["templates", "save", "a", "5 $"]).code == 2
        assert saved.names() == []


class TestRemove:
    def test_wants_a_yes_that_no_pipe_can_give(self, scripted: Scripted) -> None:
        saved.save(Saved("a", "x"))
        result = scripted.run(["templates", "rm", "a"], stdin=b"y\n")
        assert result.code == 2
        assert saved.names() == ["a"]
        result = scripted.run(["templates", "rm", "a", "-y"])
        assert (result.code, result.out) == (0, "")
        assert saved.names() == []

    @needs_terminal
    @pytest.mark.parametrize(
        ("answer", "code", "left"),
        [(b"y\r", 0, []), (b"Yes\r", 0, []), (b"\r", 1, ["a"]), (b"no\r", 1, ["a"]), (b"\x04", 1, ["a"])],
    )
    @pytest.mark.default_cases(1)
    def test_asks_at_the_terminal_whatever_stdin_is(
        self, program: Program, answer: bytes, code: int, left: list[str]
    ) -> None:
        saved.save(Saved("a", "x"))
        line = " ".join(f"'{part}'" for part in program.command("templates", "rm", "a"))
        terminal = Terminal(["/bin/sh", "-c", f"echo y | {line} > /dev/null 2>&1"])
        terminal.wait_for(b"delete template a? [y/N] ")
        terminal.send(answer)
        assert terminal.finish() == code
        assert saved.names() == left

    @needs_terminal
    def test_ctrl_c_is_130(self, program: Program) -> None:
        saved.save(Saved("a", "x"))
        terminal = Terminal(program.command("templates", "rm", "a"))
        terminal.wait_for(b"[y/N] ")
        terminal.send(b"\x03")
        assert terminal.finish() == 130
        assert saved.names() == ["a"]


class TestEdit:
    @pytest.fixture
    def editor(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """An editor that writes `text`, and says what it saw."""
        told: dict[str, Any] = {"text": ""}

        def run(command: list[str], *streams: Any) -> int:
            path = Path(command[-1])
            told["seen"], told["name"] = path.read_text(), path.name
            path.write_text(told["text"])
            return 0

        monkeypatch.setenv("EDITOR", "mine")
        monkeypatch.setattr("lacli.cli.terminal.editor._run", run)
        return told

    def test_changes_one_that_is_there(self, scripted: Scripted, editor: dict[str, Any]) -> None:
        path = saved.save(Saved("t", "old"))
        editor["text"] = 'prompt = "new"\n'
        assert scripted.run(["templates", "edit", "t"]).code == 0
        assert editor["seen"] == 'prompt = "old"\n'
        assert path.read_text() == 'prompt = "new"\n'
        assert path.stat().st_mode & 0o077 == 0

    def test_a_new_one_begins_with_an_example_and_stays_away_if_nothing_is_changed(
        self, scripted: Scripted, editor: dict[str, Any]
    ) -> None:
        editor["text"] = 'prompt = "new"'
        scripted.run(["templates", "edit", "t"])
        assert saved.load("t").prompt == "new"
        assert saved.read("t", Path("t.toml"), editor["seen"].encode()).takes_input()
        editor["text"] = editor["seen"]
        result = scripted.run(["templates", "edit", "u"])
        assert result.err == "lacli: nothing was changed\n"
        assert saved.names() == ["t"]

    def test_a_mistake_is_named_and_what_was_written_stays(self, scripted: Scripted, editor: dict[str, Any]) -> None:
        editor["text"] = "prompt = 'x'\nprmpt = 'y'\n"
        result = scripted.run(["templates", "edit", "t"])
        assert result.code == 2
        assert "t.toml:2: there is no key prmpt" in result.err
        assert (saved.folder() / "t.toml").read_text() == editor["text"]

    def test_plain_text_stays_plain(self, scripted: Scripted, editor: dict[str, Any]) -> None:
        saved.folder().mkdir(parents=True)
        (saved.folder() / "t.md").write_text("old\n")
        editor["text"] = "new"
        scripted.run(["templates", "edit", "t"])
        assert editor["name"] == "prompt.md"
        assert (saved.folder() / "t.md").read_text() == "new\n"

    def test_a_name_that_cannot_be_is_said_first(self, scripted: Scripted, editor: dict[str, Any]) -> None:
        assert scripted.run(["templates", "edit", "../x"]).code == 2
        assert "seen" not in editor
