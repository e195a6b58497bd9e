"""`lacli chat`: turns, commands and what is remembered. The terminal itself is tested in test_pty.py."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.cli.chat.history import file_of, open_history
from lacli.cli.chat.loop import ChatLoop
from lacli.cli.framework.options import Common
from lacli.errors import PromptTooLong
from lacli.events import Attachment, Finished, Piece, ReplyStats
from lacli.prompts import saved
from lacli.sessions import switch
from tests.cli.chat.talking import loop_with
from tests.cli.conftest import Scripted


def talk(
    scripts: list[object], *lines: str, common: Common | None = None
) -> tuple[ChatLoop, ScriptedAssistant, list[bool]]:
    assistant = ScriptedAssistant(scripts)  # type: ignore[arg-type]
    loop = loop_with(lambda settings: assistant, common)
    return loop, assistant, [loop.handle(line) for line in lines]


def test_a_turn_is_asked_with_all_before_it_and_the_ids_the_model_wrote(capfd: pytest.CaptureFixture[str]) -> None:
    _, assistant, _ = talk(["one two", "three"], "a?", "b?")
    first, second = assistant.requests
    assert [(m.role, m.text) for m in first.messages] == [("user", "a?")]
    assert [(m.role, m.text) for m in second.messages] == [("user", "a?"), ("assistant", "one two"), ("user", "b?")]
    assert second.messages[1].token_ids == (0, 1)
    assert second.drop_oldest
    assert capfd.readouterr().out == "one two\nthree\n"


def test_clear_forgets_and_exit_leaves(capfd: pytest.CaptureFixture[str]) -> None:
    _, assistant, stays = talk(["x", "y"], "a?", "/clear", "b?", "/exit")
    assert [m.text for m in assistant.requests[1].messages] == ["b?"]
    assert stays == [True, True, True, False]


def test_help_and_stats_go_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    talk(["a b c d e"], "/stats", "/help", "hi", "/stats", "/nonsense")
    captured = capfd.readouterr()
    assert captured.out == "a b c d e\n"
    for words in ("no reply yet", "/clear", "tok/step", "no command /nonsense"):
        assert words in captured.err


def test_stats_show_the_last_reply_and_the_sum_of_the_chat(capfd: pytest.CaptureFixture[str]) -> None:
    talk(["a b c d e", "one two three", "x"], "hi", "again", "/stats", "/clear", "third", "/stats")
    lines = [line.split() for line in capfd.readouterr().err.splitlines()]
    assert [line for line in lines if line[:1] == ["tokens"]] == [["tokens", "3", "8"], ["tokens", "1", "1"]]
    assert ["saved", "steps", "1", "3"] in lines
    assert ["project", "1/3", "33%", "3/9", "38%"] in lines


def test_a_command_with_words_it_does_not_take_is_refused_and_neither_obeyed_nor_sent(
    capfd: pytest.CaptureFixture[str],
) -> None:
    _, assistant, stays = talk(["x", "y"], "a?", "/clear me", "/exit now", "b?")
    assert stays == [True] * 4
    assert [m.text for m in assistant.requests[1].messages] == ["a?", "x", "b?"]
    assert "/clear takes nothing after it" in capfd.readouterr().err


def test_after_clear_there_are_no_numbers(capfd: pytest.CaptureFixture[str]) -> None:
    talk(["x"], "a?", "/clear", "/stats")
    assert "no reply yet" in capfd.readouterr().err


@pytest.mark.parametrize("line", ["/tmp is what?", "/usr/bin/env is what?", "", "   "])
def test_a_path_is_a_question_and_blanks_are_nothing(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    _, assistant, stays = talk(["x"], line)
    assert len(assistant.requests) == (1 if line.strip() else 0)
    assert stays == [True]


def test_a_failed_turn_is_one_line_and_the_chat_goes_on_without_it(capfd: pytest.CaptureFixture[str]) -> None:
    _, assistant, stays = talk([PromptTooLong("too long", "shorten it"), "fine"], "long", "short")
    assert stays == [True, True]
    assert [m.text for m in assistant.requests[1].messages] == ["short"]
    assert "lacli: error: too long; shorten it" in capfd.readouterr().err


def test_a_turn_stopped_before_its_first_token_never_happened(capfd: pytest.CaptureFixture[str]) -> None:
    _, assistant, _ = talk([[Finished("", (), "cancelled", ReplyStats())], "fine"], "first", "second")
    assert [m.text for m in assistant.requests[1].messages] == ["second"]


def test_dropped_messages_are_not_sent_again(capfd: pytest.CaptureFixture[str]) -> None:
    dropping = [Finished("r3", (3,), "stop", ReplyStats(), dropped=2)]
    _, assistant, _ = talk(["r1", "r2", dropping, "r4"], "q1", "q2", "q3", "q4")
    assert [m.text for m in assistant.requests[3].messages] == ["q2", "r2", "q3", "r3", "q4"]


def test_with_a_prompt_or_piped_stdin_it_is_one_turn(scripted: Scripted) -> None:
    assert scripted.run(["chat", "hi"], ["yo"]).out == "yo\n"
    assert scripted.run(["chat"], ["yo"], stdin=b"question").out == "yo\n"
    assert scripted.run(["chat"], ["yo"], stdin=b"").code == 2


def asked(scripted: Scripted) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in scripted.assistants[-1].requests[-1].messages]


class TestOneTurn:
    @pytest.fixture(autouse=True)
    def project(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (tmp_path / "project").mkdir()
        monkeypatch.chdir(tmp_path / "project")
        return tmp_path / "project"

    def test_each_is_kept_and_the_next_goes_on_with_it(self, scripted: Scripted) -> None:
        one, two = (
            [Piece(text, ("",), ReplyStats()), Finished(text, (0,), "stop", ReplyStats(model="smollm2-135m"))]
            for text in ("one", "two")
        )
        scripted.run(["chat", "-s", "Be brief", "a?"], [one])
        result = scripted.run(["chat", "-c", "b?"], [two])
        assert (result.code, result.out, result.err) == (0, "two\n", "")
        said = [("system", "Be brief"), ("user", "a?"), ("assistant", "one"), ("user", "b?")]
        assert asked(scripted) == said
        assert scripted.assistants[-1].requests[-1].messages[2].token_ids == (0,)
        id_ = scripted.run(["sessions", "list", "--json"]).out
        scripted.run(["chat", "--session", json.loads(id_)[0]["id"][:8], "c?"], ["three"])
        assert asked(scripted) == [*said, ("assistant", "two"), ("user", "c?")]

    def test_without_a_log_nothing_is_there_to_go_on_with(self, scripted: Scripted) -> None:
        scripted.run(["chat", "--no-log", "a?"])
        result = scripted.run(["chat", "-c", "b?"])
        assert "no conversation is kept of this project yet" in result.err
        assert asked(scripted) == [("user", "b?")]
        assert scripted.run(["chat", "--session", "abc", "b?"]).code == 2

    def test_what_another_model_wrote_is_read_as_text(self, scripted: Scripted) -> None:
        scripted.run(["chat", "a?"], ["one"])
        result = scripted.run(["chat", "-c", "b?"], ["two"])
        assert "this conversation was held with scripted; the default model goes on" in result.err
        assert scripted.assistants[-1].requests[-1].messages[1].token_ids == ()

    def test_an_interrupted_reply_is_kept_and_marked_and_ends_with_130(self, scripted: Scripted) -> None:
        half = [Piece("ha", ("",), ReplyStats()), Finished("ha", (7,), "cancelled", ReplyStats())]
        assert scripted.run(["chat", "a?"], [half]).code == 130
        scripted.run(["chat", "-c", "b?"])
        assert asked(scripted) == [("user", "a?"), ("assistant", "ha"), ("user", "b?")]

    def test_files_and_a_template_go_with_it(self, scripted: Scripted, project: Path) -> None:
        (project / "a.py").write_text("x = 1\n")
        saved.save(saved.Saved("review", prompt="Review: $input", system="Be strict", options={"temperature": 0.5}))
        scripted.run(["chat", "-t", "review", "-f", "a.py", "all of it"])
        request = scripted.assistants[-1].requests[-1]
        assert asked(scripted) == [("system", "Be strict"), ("user", "Review: all of it")]
        assert request.messages[-1].attachments == (Attachment("a.py", "x = 1\n"),)
        assert request.temperature == 0.5

    def test_json_is_for_one_turn(self, scripted: Scripted) -> None:
        assert json.loads(scripted.run(["chat", "--json", "a?"]).out)["text"] == "hello"
        assert scripted.run(["chat", "--json", "-i", "a?"]).code == 2


class TestHistory:
    def test_help_names_the_file_or_says_that_there_is_none(
        self, sandbox: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        loop, _, _ = talk([])
        loop.history_file = file_of(open_history(keep=True))
        loop.handle("/help")
        assert f"kept in {sandbox / 'state' / 'chat_history'}" in capfd.readouterr().err
        loop.history_file = file_of(open_history(keep=False))
        loop.handle("/help")
        assert "not kept" in capfd.readouterr().err

    def test_without_the_pool_nothing_typed_reaches_the_disk(self, sandbox: Path) -> None:
        history = open_history(keep=False)
        history.append_string("question")
        assert history.get_strings() == ["question"]
        assert list(sandbox.iterdir()) == []

    def test_a_long_file_loses_its_oldest_lines(self, sandbox: Path) -> None:
        file = sandbox / "state" / "chat_history"
        file.parent.mkdir(parents=True)
        file.write_text("".join(f"\n# 2026-01-01\n+question {number}\n" for number in range(40_000)))
        history = open_history(keep=True)
        kept = list(history.load_history_strings())
        assert kept[0] == "question 39999"
        assert kept[-1].startswith("question 2")
        assert 400_000 < file.stat().st_size < 600_000
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    def test_logs_off_keeps_nothing_that_is_typed(self, sandbox: Path) -> None:
        switch.turn(False)
        open_history(keep=True).append_string("question")
        assert not (sandbox / "state").exists()

    @pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", os.mkdir)])
    def test_what_is_no_file_in_its_place_is_said_and_not_waited_for(
        self, make: Callable[[Path], None], sandbox: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (sandbox / "state").mkdir()
        make(sandbox / "state" / "chat_history")
        history = open_history(keep=True)
        history.append_string("one")
        assert list(history.get_strings()) == ["one"]
        assert capsys.readouterr().err.endswith("chat_history is no regular file\n")

    def test_a_line_with_a_secret_is_remembered_and_never_written(self, sandbox: Path) -> None:
        history = open_history(keep=True)
        for line in ("one", "my key is ghp_" + "a1B2c3D4" * 5, "two"):
            history.append_string(line)
        assert len(history.get_strings()) == 3
        kept = (sandbox / "state" / "chat_history").read_text(encoding="utf-8")
        assert "+one" in kept
        assert "+two" in kept
        assert "ghp_" not in kept

    def test_a_value_of_the_projects_own_settings_is_never_written(
        self, sandbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = tmp_path / "site"
        project.mkdir()
        (project / ".env").write_text("DB_PASSWORD=zebra-quartz-77\n")
        monkeypatch.chdir(project)
        history = open_history(keep=True)
        for line in ("why does zebra-quartz-77 not log in", "and now"):
            history.append_string(line)
        kept = (sandbox / "state" / "chat_history").read_text(encoding="utf-8")
        assert "+and now" in kept
        assert "zebra" not in kept
