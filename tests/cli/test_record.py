"""What commands keep of their turns, and that no state of the log costs a reply."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lacli.chat.conversation import Conversation
from lacli.cli.terminal.diagnostics import notice as say
from lacli.events import Counts, Finished, Message, ReplyStats
from lacli.sessions import database, switch
from lacli.sessions.recorder import Recorder
from lacli.sessions.store import SessionStore, path
from tests.cli.conftest import Scripted

QUESTION = Message("user", "why?")


def finished(text: str = "because", reason: str = "stop") -> Finished:
    stats = ReplyStats(predicted_n=3, steps=1, plain_steps=2, model="smollm2", finish_reason=reason)
    return Finished(text, (1, 2, 3) if text else (), reason, stats)


@pytest.fixture
def log(project: Path) -> SessionStore:
    return SessionStore(path())


def asked(log: SessionStore) -> list[list[str]]:
    """The questions of each session."""
    return [[turn.question.text for turn in log.session(one.id).turns] for one in log.list(everywhere=True)]


class TestTurns:
    def test_turns_of_one_recorder_are_one_session_of_the_project(self, log: SessionStore, project: Path) -> None:
        recorder = Recorder("chat", say, system="Be terse.")
        assert recorder.id == ""
        recorder.turn(QUESTION, finished())
        recorder.turn(QUESTION, finished("well", "cancelled"))
        session = log.session(recorder.id)
        assert (session.kind, session.project, session.model, session.system) == (
            "chat",
            project,
            "smollm2",
            "Be terse.",
        )
        assert [turn.reason for turn in session.turns] == ["stop", "cancelled"]
        assert session.turns[0].answer == Message("assistant", "because", (1, 2, 3))
        assert [each.predicted_n for each in log.days(project).values()] == [6]

    def test_a_reply_stopped_before_its_first_token_never_happened(self, log: SessionStore) -> None:
        Recorder("ask", say).turn(QUESTION, finished("", "cancelled"))
        assert log.list(everywhere=True) == []
        Recorder("complete", say).turn(QUESTION, finished("", "stop"))
        assert len(log.list(everywhere=True)) == 1

    def test_a_session_is_resumed_undone_and_left(self, log: SessionStore) -> None:
        first = Recorder("chat", say)
        first.turn(Message("user", "1"), finished())
        recorder = Recorder("chat", say)
        recorder.resume(log.session(first.id))
        recorder.turn(Message("user", "2"), finished())
        recorder.undo()
        recorder.turn(Message("user", "3"), finished())
        recorder.new()
        recorder.turn(Message("user", "4"), finished())
        assert asked(log) == [["4"], ["1", "3"]]

    def test_a_summary_does_not_name_the_session_that_begins_with_it(self, log: SessionStore) -> None:
        recorder, conversation = Recorder("chat", say), Conversation()
        for words in ("one?", "two?"):
            conversation.ask(words)
            recorder.turn(Message("user", words), finished())
            conversation.answered(finished())
        conversation.compact(finished("all of it"))
        recorder.leave(conversation.turns, "smollm2")
        assert sorted(one.title for one in log.list(everywhere=True)) == ["one?", "two?"]


class TestNothingKept:
    def test_no_log_writes_nothing_at_all(self, project: Path, sandbox: Path) -> None:
        recorder = Recorder("ask", say, keep=False)
        recorder.turn(QUESTION, finished())
        recorder.undo()
        assert not (sandbox / "data").exists()

    def test_logs_off_keeps_numbers_and_no_word(self, log: SessionStore, project: Path) -> None:
        switch.turn(False)
        Recorder("ask", say).turn(QUESTION, finished("because"))
        assert log.list(everywhere=True) == []
        assert [each.predicted_n for each in log.days(project).values()] == [3]
        assert b"because" not in path().read_bytes()
        switch.turn(True)
        Recorder("ask", say).turn(QUESTION, finished())
        assert asked(log) == [["why?"]]

    def test_a_home_that_is_nowhere_is_one_note(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.delenv("LACLI_HOME")
        monkeypatch.setenv("XDG_DATA_HOME", "relative")
        monkeypatch.setattr("platformdirs.user_data_dir", lambda *names, **more: "relative")
        recorder = Recorder("ask", say)
        recorder.turn(QUESTION, finished())
        recorder.turn(QUESTION, finished())
        assert capsys.readouterr().err.count("\n") == 1
        assert recorder.id == ""


class TestHeld:
    def test_turns_said_while_the_log_was_held_are_kept_with_the_next_one(
        self, log: SessionStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(database, "MAX_WAIT_S", 0.05)
        Recorder("ask", say).turn(Message("user", "0"), finished())
        recorder = Recorder("chat", say)
        with closing(sqlite3.connect(path(), isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            recorder.turn(Message("user", "1"), finished())
            recorder.turn(Message("user", "2"), finished())
            recorder.undo()
            assert recorder.id == ""
        recorder.turn(Message("user", "3"), finished())
        assert asked(log) == [["1", "3"], ["0"]]
        assert recorder.id == log.list(everywhere=True)[0].id
        said = capsys.readouterr().err.splitlines()
        assert [line.split(";")[-1].split(":")[-1] for line in said] == [
            " what is said is not kept",
            " all of this one is kept",
        ]


def _newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA user_version = 999")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "cut": lambda file: file.write_bytes(file.read_bytes()[:100]),
    "no database": lambda file: file.write_bytes(b"x" * 9000),
    "newer": _newer,
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_whatever_the_log_is_like_the_reply_is_shown_with_one_line_at_most(
    scripted: Scripted, project: Path, damage: str
) -> None:
    assert scripted.run(["ask", "--no-stdin", "one"]).err == ""
    DAMAGES[damage](path())
    done = scripted.run(["ask", "--no-stdin", "two"])
    assert (done.code, done.out) == (0, "hello\n")
    assert done.err.count("\n") == (damage != "deleted")


def test_ask_keeps_its_turn_and_no_log_does_not(scripted: Scripted, log: SessionStore) -> None:
    scripted.run(["ask", "--no-stdin", "kept"])
    scripted.run(["ask", "--no-stdin", "--no-log", "not kept"])
    assert asked(log) == [["kept"]]
    assert sum((each for each in log.days(everywhere=True).values()), Counts()).replies == 1
