"""What `ask` asks: words, files, templates, the editor and what is piped in (ux.md §2.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lacli.events import Message
from lacli.prompts import saved
from lacli.prompts.content import composed
from lacli.prompts.saved import Saved
from tests.cli.conftest import Scripted


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("a = 1\n")
    (tmp_path / "my notes.md").write_text("# Notes\n")
    return tmp_path


def asked(scripted: Scripted) -> tuple[Message, ...]:
    return scripted.assistants[-1].requests[-1].messages


def shown(scripted: Scripted) -> str:
    *_, last = asked(scripted)
    return composed(last.text, last.attachments)


class TestFiles:
    def test_come_before_the_words_with_stdin_last(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "-f", "a.py", '@"my notes.md"', "why?"], stdin=b"piped\n")
        assert result.code == 0
        assert shown(scripted) == (
            "```a.py\na = 1\n```\n\n```my notes.md\n# Notes\n```\n\n```stdin\npiped\n```\n\nmy notes.md why?"
        )

    def test_a_dash_among_them_is_stdin_at_its_place(self, scripted: Scripted) -> None:
        scripted.run(["ask", "-f", "-", "-f", "a.py", "--no-stdin", "why?"], stdin=b"piped\n")
        assert [each.label for each in asked(scripted)[-1].attachments] == ["stdin", "a.py"]

    def test_a_question_may_come_by_the_pipe(self, scripted: Scripted) -> None:
        scripted.run(["ask", "-f", "a.py"], stdin=b"what is @a.py?\n")
        assert shown(scripted) == "```a.py\na = 1\n```\n\nwhat is @a.py?\n"  # what is piped in attaches nothing

    def test_a_file_alone_is_the_prompt(self, scripted: Scripted) -> None:
        scripted.run(["ask", "-f", "a.py"])
        assert shown(scripted) == "a = 1\n"

    def test_a_leading_dash_takes_words_too(self, scripted: Scripted) -> None:
        scripted.run(["ask", "-", "why?", "--no-stdin"], stdin=b"x\n")
        assert shown(scripted) == "```stdin\nx\n```\n\nwhy?"
        scripted.run(["ask", "5", "-", "3?"])
        assert shown(scripted) == "5 - 3?"

    @pytest.mark.parametrize(
        ("arguments", "words", "code"),
        [
            (["-f", "missing"], "there is no file missing", 2),
            (["-f", "."], ". is a folder", 2),
            (["@bin"], "bin is a binary file", 2),
            (["-f", "huge"], "huge has 67,108,865 bytes", 5),
        ],
    )
    def test_what_cannot_be_shown_ends_it_before_a_model_is_asked_for(
        self, scripted: Scripted, files: Path, arguments: list[str], words: str, code: int
    ) -> None:
        (files / "bin").write_bytes(b"a\0b")
        with open(files / "huge", "wb") as huge:
            huge.truncate((1 << 26) + 1)
        result = scripted.run(["ask", *arguments, "why?"])
        assert (result.code, result.out) == (code, "")
        assert words in result.err
        assert result.err.count("\n") == 1
        assert scripted.assistants == []

    def test_a_file_of_secrets_is_shown_with_a_warning(self, scripted: Scripted, files: Path) -> None:
        (files / ".env").write_text("KEY=1\n")
        result = scripted.run(["ask", "-f", ".env", "why?"])
        assert "lacli: warning: .env looks like a file of secrets; the log keeps it" in result.err
        assert "KEY=1" in shown(scripted)
        assert "the log keeps it" not in scripted.run(["ask", "--no-log", "-f", ".env", "why?"]).err


class TestTemplates:
    def test_fills_in_words_and_parameters(self, scripted: Scripted) -> None:
        saved.save(Saved("t", "Say $input in $lang for $$1", "Be $mood", {"mood": "kind"}))
        result = scripted.run(["ask", "-t", "t", "-p", "lang", "Go", "a", "b"])
        assert result.code == 0
        system, question = asked(scripted)
        assert (system.role, system.text) == ("system", "Be kind")
        assert question.text == "Say a b in Go for $1"

    def test_what_is_piped_in_is_the_input_where_no_words_are(self, scripted: Scripted) -> None:
        saved.save(Saved("t", "Say $input!"))
        scripted.run(["ask", "-t", "t"], stdin=b"this\n")
        assert asked(scripted)[-1] == Message("user", "Say this!")
        scripted.run(["ask", "-t", "t", "words"], stdin=b"this\n")
        assert shown(scripted) == "```stdin\nthis\n```\n\nSay words!"

    def test_without_a_place_what_is_piped_in_stands_before_it(self, scripted: Scripted) -> None:
        saved.save(Saved("t", "Summarise."))
        scripted.run(["ask", "-t", "t"], stdin=b"this\n")
        assert shown(scripted) == "```stdin\nthis\n```\n\nSummarise."
        scripted.run(["ask", "-t", "t"])
        assert shown(scripted) == "Summarise."

    def test_a_typed_system_message_wins_and_a_variable_too(
        self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        saved.save(Saved("t", "p", "own $input"))
        scripted.run(["ask", "-t", "t", "-s", "typed $x", "w"])
        assert asked(scripted)[0].text == "typed $x"
        monkeypatch.setenv("LACLI_SYSTEM", "set")
        scripted.run(["ask", "-t", "t", "w"])
        assert asked(scripted)[0].text == "set"

    def test_its_options_are_defaults_that_typed_ones_win_over(
        self, scripted: Scripted, files: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        saved.save(Saved("t", "p", options={"max-tokens": 7, "temperature": 0.5, "stop": ["x"]}))
        (files / "lacli.toml").write_text("temperature = 0.9\ntop-k = 3\n")
        scripted.run(["ask", "-t", "t", "--temperature", "0.1"])
        request = scripted.assistants[-1].requests[-1]
        assert (request.max_tokens, request.temperature, request.stops, request.top_k) == (7, 0.1, ("x",), 3)
        scripted.run(["ask", "--temperature", "0.1", "-n", "9", "-t", "t"])
        assert scripted.assistants[-1].requests[-1].max_tokens == 9
        scripted.run(["ask", "-t", "t"])
        assert scripted.assistants[-1].requests[-1].temperature == 0.5

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["-t", "nope", "x"], "there is no template nope"),
            (["-t", "t", "x"], "template t needs the parameter lang"),
            (["-t", "t", "-p", "lang", "Go", "-p", "a", "b", "x"], "template t has no parameter a"),
            (["-t", "t", "-p", "lang", "Go"], "template t needs its $input"),
            (["-p", "a", "b", "x"], "none is used"),
            (["-p", "a"], "-p"),
        ],
    )
    def test_mistakes_are_usage_errors(self, scripted: Scripted, arguments: list[str], words: str) -> None:
        saved.save(Saved("t", "Say $input in $lang"))
        result = scripted.run(["ask", *arguments])
        assert result.code == 2
        assert words in result.err
        assert result.err.count("\n") == 1
        assert not [each for each in scripted.assistants if each.requests]

    def test_save_keeps_one_and_asks_nothing(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "--save", "t", "-s", "Be $mood", "-p", "mood", "kind", "Say $input"])
        assert (result.code, result.out) == (0, "")
        assert "saved as" in result.err
        assert scripted.assistants == []
        assert saved.load("t") == Saved("t", "Say $input", "Be $mood", {"mood": "kind"})
        assert scripted.run(["ask", "--save", "t", "other"]).code == 2
        assert scripted.run(["ask", "--save", "u"]).code == 2


class TestEditor:
    def test_the_words_are_written_there(self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
        def run(command: list[str], *streams: Any) -> int:
            path = Path(command[-1])
            seen.append((path.read_text(), path.parent.stat().st_mode & 0o777))
            path.write_text("edited @a.py\r\n")
            return code

        seen: list[Any] = []
        code = 0
        monkeypatch.setenv("EDITOR", "mine --wait")
        monkeypatch.setattr("lacli.cli.terminal.editor._run", run)
        assert scripted.run(["ask", "-e", "draft"]).code == 0
        assert seen == [("draft", 0o700)]
        assert shown(scripted) == "```a.py\na = 1\n```\n\nedited a.py"
        code = 1
        result = scripted.run(["ask", "-e", "draft"])
        assert result.code == 1
        assert "the editor mine ended with code 1" in result.err

    def test_one_that_is_not_there_is_one_line(self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VISUAL", "/nonexistent/editor")
        result = scripted.run(["ask", "-e", "x"])
        assert result.code == 2
        assert result.err == (
            "lacli: error: the editor /nonexistent/editor cannot be started: No such file or directory; set EDITOR\n"
        )
