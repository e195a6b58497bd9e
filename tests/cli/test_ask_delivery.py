"""Where a reply of `ask` goes: code blocks, JSON, events, files, the log; and its prompt without a reply."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from lacli.cli.terminal.output import StdoutClosed
from lacli.errors import ModelUnavailable
from lacli.events import Finished, Loading, Notice, Piece, Prefill, ReplyStats
from lacli.sessions.store import SessionStore, path
from tests.cli.conftest import Scripted

TWO = "Here:\n```python\nx = 1\n```\nor\n~~~go\ny := 2\n~~~\nDone."


def ended(text: str, reason: str) -> list[Any]:
    """A script of this text that ends so."""
    stats = ReplyStats(predicted_n=1, finish_reason=reason)
    return [Piece(text, ("",), stats), Finished(text, (1,), reason, stats)]


def sessions() -> list[Any]:
    return SessionStore(path()).list(everywhere=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project to stand in."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


class TestExtract:
    @pytest.mark.parametrize(
        ("option", "out"),
        [("-x", "x = 1\n"), ("--extract", "x = 1\n"), ("--xl", "y := 2\n"), ("--extract-last", "y := 2\n")],
    )
    def test_prints_that_block_and_nothing_else(self, scripted: Scripted, option: str, out: str) -> None:
        result = scripted.run(["ask", option, "hi"], [TWO])
        assert (result.code, result.out, result.err) == (0, out, "")

    def test_the_outer_block_of_nested_ones(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "-x", "hi"], ["````md\na\n```py\nb\n```\nc\n````\n"])
        assert result.out == "a\n```py\nb\n```\nc\n"

    def test_without_a_block_it_is_the_whole_text_and_that_is_said(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "-x", "hi"], ["plain words"])
        assert (result.out, result.err) == (
            "plain words\n",
            "lacli: the reply has no code block; this is all of it\n",
        )

    def test_a_block_that_was_cut_is_printed_and_called_incomplete(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "-x", "hi"], [ended("```py\nx = (", "length")])
        assert result.out == "x = (\n"
        assert "warning: the code block is not complete: the reply was cut at its most tokens" in result.err

    def test_json_has_the_code_beside_the_text(self, scripted: Scripted) -> None:
        document = json.loads(scripted.run(["ask", "-x", "--json", "hi"], [TWO]).out)
        assert (document["text"], document["code"], document["language"]) == (TWO, "x = 1\n", "python")
        assert document["code_complete"] is True
        document = json.loads(scripted.run(["ask", "-x", "--json", "hi"], ["no"]).out)
        assert (document["code"], document["code_complete"]) == (None, False)


class TestJson:
    def test_names_model_and_session(self, scripted: Scripted) -> None:
        document = json.loads(scripted.run(["ask", "--json", "hi"], ["a\x1b[31m\u0085b"]).out)
        assert document["text"] == "a\x1b[31m\u0085b"
        assert document["model"] == "scripted"
        (session,) = sessions()
        assert document["session"] == session.id
        assert json.loads(scripted.run(["ask", "--json", "--no-log", "hi"]).out)["session"] is None

    def test_events_come_one_a_line_and_their_pieces_are_the_text(self, scripted: Scripted) -> None:
        script = [Prefill(3, 7, 0), Notice("late"), *ended("two\nlines", "stop")]
        result = scripted.run(["ask", "--jsonl", "hi"], [script], opening=[Loading("load", 1, 2)] * 2)
        records = [json.loads(line) for line in result.out.splitlines()]
        assert [each["event"] for each in records] == ["loading", "prefill", "notice", "piece", "finished"]
        assert records[0] == {"event": "loading", "stage": "load", "done": 1, "total": 2}
        assert records[2] == {"event": "notice", "text": "late", "level": "note"}
        assert "".join(each["text"] for each in records if each["event"] == "piece") == records[-1]["text"]
        assert records[-1]["finish_reason"] == "stop"
        assert set(records[-1]) == {"event", "text", "finish_reason", "stats", "model", "session"}

    def test_pieces_of_a_whole_reply_join_to_it(self, scripted: Scripted) -> None:
        text = "naïve 漢字 one two\nthree 👩‍💻"
        records = [json.loads(line) for line in scripted.run(["ask", "--jsonl", "hi"], [text]).out.splitlines()]
        assert "".join(each["text"] for each in records if each["event"] == "piece") == text

    @pytest.mark.parametrize("other", [["--json"], ["-x"], ["-o", "f"]])
    def test_excludes_what_is_no_stream(self, scripted: Scripted, other: list[str]) -> None:
        assert scripted.run(["ask", "--jsonl", *other, "hi"]).code == 2
        assert not [each for each in scripted.assistants if each.requests]


class TestFile:
    def test_has_the_reply_and_stdout_nothing(self, scripted: Scripted, folder: Path) -> None:
        result = scripted.run(["ask", "-o", "r.txt", "hi"], ["é\x1b[1m two"])
        assert (result.code, result.out, result.err) == (0, "", "lacli: written to r.txt\n")
        assert (folder / "r.txt").read_bytes() == "é\x1b[1m two\n".encode()
        assert [each.name for each in folder.iterdir()] == ["r.txt"]

    def test_keeps_mode_and_link_of_one_that_is_there(self, scripted: Scripted, folder: Path) -> None:
        (folder / "r.txt").write_text("old, and longer than the new one")
        (folder / "r.txt").chmod(0o640)
        (folder / "link").symlink_to("r.txt")
        scripted.run(["ask", "-x", "-o", "link", "hi"], [TWO])
        assert (folder / "link").is_symlink()
        assert (folder / "r.txt").read_text() == "x = 1\n"
        assert stat.S_IMODE((folder / "r.txt").stat().st_mode) == 0o640

    def test_may_be_the_json_object(self, scripted: Scripted, folder: Path) -> None:
        assert scripted.run(["ask", "-o", "r.json", "--json", "hi"], ["a"]).out == ""
        assert json.loads((folder / "r.json").read_text())["text"] == "a"

    def test_a_dash_is_stdout(self, scripted: Scripted) -> None:
        assert scripted.run(["ask", "-o", "-", "hi"], ["a b"]).out == "a b\n"

    @pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices here")
    def test_a_device_stays_a_device(self, scripted: Scripted) -> None:
        assert scripted.run(["ask", "-o", "/dev/null", "hi"]).code == 0
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)

    @pytest.mark.parametrize(("name", "words"), [(".", "is a folder"), ("no/r.txt", "there is no folder")])
    def test_a_place_that_cannot_be_is_said_before_the_reply(self, scripted: Scripted, name: str, words: str) -> None:
        result = scripted.run(["ask", "-o", name, "hi"])
        assert result.code == 2
        assert words in result.err
        assert scripted.assistants == []

    def test_a_stopped_reply_replaces_no_file(self, scripted: Scripted, folder: Path) -> None:
        (folder / "r.txt").write_text("old")
        result = scripted.run(["ask", "-o", "r.txt", "hi"], [ended("half", "cancelled")])
        assert (result.code, result.out) == (130, "half\n")
        assert "r.txt is left as it is: the reply was stopped" in result.err
        assert (folder / "r.txt").read_text() == "old"

    def test_a_full_disk_loses_no_reply(
        self, scripted: Scripted, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        (folder / "r.txt").write_text("old")
        monkeypatch.setattr("os.fsync", full)
        result = scripted.run(["ask", "-o", "r.txt", "--no-log", "hi"], ["the reply"])
        assert (result.code, result.out) == (4, "the reply\n")
        assert result.err == (
            "lacli: error: r.txt cannot be written: No space left on device; it was printed to stdout instead\n"
        )
        assert (folder / "r.txt").read_text() == "old"
        assert [each.name for each in folder.iterdir()] == ["r.txt"]


class TestDryRun:
    def test_prints_the_prompt_and_asks_nothing(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "--dry-run", "three more words"], stdin=b"x")
        assert result.out == "```stdin\nx\n```\n\nthree more words"
        assert result.err == "lacli: 6 tokens; the context has 2,048\n"
        assert scripted.assistants[-1].requests == []
        assert not path().exists()

    def test_goes_to_a_file_where_one_is_named(self, scripted: Scripted, folder: Path) -> None:
        assert scripted.run(["ask", "--dry-run", "-o", "p.txt", "a b"]).out == ""
        assert (folder / "p.txt").read_text() == "a b"

    def test_json_has_the_ids(self, scripted: Scripted) -> None:
        document = json.loads(scripted.run(["ask", "--dry-run", "--json", "-s", "S", "a b"]).out)
        assert document == {"prompt": "S\na b", "prompt_n": 3, "ctx_size": 2048, "token_ids": [0, 1, 2], "notes": []}


class TestSessions:
    def test_a_reply_is_kept_with_its_question(self, scripted: Scripted, folder: Path) -> None:
        (folder / "a.py").write_text("a = 1\n")
        scripted.run(["ask", "-s", "S", "-f", "a.py", "why?"], ["because"])
        (kept,) = sessions()
        session = SessionStore(path()).session(kept.id)
        (turn,) = session.turns
        assert (session.kind, session.system, session.model) == ("ask", "S", "scripted")
        assert [each.label for each in turn.question.attachments] == ["a.py"]
        assert (turn.question.text, turn.answer.text, turn.answer.token_ids) == ("why?", "because", (0,))
        assert not scripted.run(["ask", "--no-log", "hi"]).err
        assert len(sessions()) == 1

    def test_continue_asks_with_what_was_said_and_adds_to_it(self, scripted: Scripted) -> None:
        scripted.run(["ask", "-s", "S", "one?"], ["first"])
        result = scripted.run(["ask", "-c", "two?"], ["second"])
        request = scripted.assistants[-1].requests[0]
        assert [(m.role, m.text) for m in request.messages] == [
            ("system", "S"),
            ("user", "one?"),
            ("assistant", "first"),
            ("user", "two?"),
        ]
        assert request.drop_oldest
        assert result.out == "second\n"
        (kept,) = sessions()
        assert len(SessionStore(path()).session(kept.id).turns) == 2
        scripted.run(["ask", "--session", kept.id[:6], "-s", "T", "three?"], ["third"])
        messages = scripted.assistants[-1].requests[0].messages
        assert (messages[0].text, len(messages)) == ("T", 6)

    def test_continue_without_a_past_begins_one(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "-c", "hi"])
        assert result.code == 0
        assert "this is a new one" in result.err

    def test_continue_with_a_damaged_log_keeps_it_aside_and_begins_one(self, scripted: Scripted) -> None:
        path().parent.mkdir(parents=True)
        path().write_bytes(b"this is no database\n" * 500)
        result = scripted.run(["ask", "-c", "hi"], ["hello"])
        assert (result.code, result.out) == (0, "hello\n")
        assert "was damaged: it is kept as" in result.err
        assert "this is a new one" in result.err
        (kept,) = sessions()
        assert SessionStore(path()).session(kept.id).turns[0].answer.text == "hello"

    def test_an_unknown_session_is_exit_2(self, scripted: Scripted) -> None:
        assert scripted.run(["ask", "--session", "ffff", "hi"]).code == 2
        assert scripted.run(["ask", "--session", "ffff", "-c", "hi"]).code == 2

    def test_what_was_written_is_kept_when_the_reader_goes_away(
        self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def closed(text: str) -> None:
            raise StdoutClosed

        monkeypatch.setattr("lacli.cli.terminal.output.text", closed)
        assert scripted.run(["ask", "hi"], ["one two three"]).code == 141
        (kept,) = sessions()
        assert kept.interrupted
        assert SessionStore(path()).session(kept.id).turns[0].answer.text == "one"

    def test_a_failure_keeps_nothing(self, scripted: Scripted) -> None:
        assert scripted.run(["ask", "hi"], [ModelUnavailable("m", "h")]).code == 3
        assert not path().exists()

    def test_a_part_that_was_left_out_is_not_kept_either(self, scripted: Scripted) -> None:
        from lacli.events import Message

        stats = ReplyStats(predicted_n=1, model="m")
        script = [Finished("ok", (1,), "stop", stats, shown=Message("user", "cut"))]
        scripted.run(["ask", "a long question", "--truncate", "tail"], [script])
        assert scripted.assistants[-1].requests[0].truncate == "tail"
        (kept,) = sessions()
        assert SessionStore(path()).session(kept.id).turns[0].question.text == "cut"


class TestInteractive:
    def test_without_a_terminal_it_is_one_turn(self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("lacli.cli.terminal.keyboard.open_terminal", lambda: None)
        result = scripted.run(["ask", "-i", "hi"], ["hello"])
        assert (result.code, result.out) == (0, "hello\n")
        assert "there is no terminal to ask on at" in result.err

    @pytest.mark.parametrize("option", ["--json", "--jsonl", "-x", "-ofile"])
    def test_excludes_what_changes_the_output(self, scripted: Scripted, option: str) -> None:
        assert scripted.run(["ask", "-i", option, "hi"]).code == 2
