"""What goes to which stream: the matrix of terminal and pipe, colours, time limits, and what the options make of it."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lacli.assistant.scripted import ScriptedAssistant
from lacli.cli.ask.reply_output import write_text
from lacli.cli.framework.deadline import Deadline
from lacli.cli.run import Run
from lacli.cli.terminal import output
from lacli.cli.terminal import tty as terminal
from lacli.errors import TimedOut
from lacli.events import Event, Finished, Piece, Prefill, ReplyStats
from tests.cli.conftest import Program, Scripted, Terminal
from tests.cli.screen import Screen

HOSTILE = "# T\n**a**\x1b[31mb\x1b]0;t\x07\x9bc"
"""Markdown, and sequences that a terminal obeys; the last begins one that swallows the letter behind it."""


class TestPipe:
    @pytest.mark.parametrize("command", ["ask", "complete"])
    def test_gets_the_bytes_of_the_model(self, scripted: Scripted, tmp_path: Path, command: str) -> None:
        (tmp_path / "a.txt").write_text("x", encoding="utf-8")
        result = scripted.run([command, str(tmp_path / "a.txt"), "--no-log"], [HOSTILE])
        assert (result.code, result.err) == (0, "")
        assert result.out == HOSTILE + ("\n" if command == "ask" else "")

    def test_gets_no_sequence_where_it_is_asked_to_be_freed_of_them(self, scripted: Scripted) -> None:
        assert scripted.run(["ask", "hi", "--sanitize"], [HOSTILE]).out == "# T\n**a**b\n"
        assert scripted.run(["ask", "hi"], [HOSTILE]).out == HOSTILE + "\n"

    @pytest.mark.parametrize("option", ["--plain", "--color=always", "--color=never", "-S"])
    def test_gets_the_same_with_every_option_about_looks(self, scripted: Scripted, option: str) -> None:
        assert scripted.run(["ask", "hi", option], [HOSTILE]).out == HOSTILE + "\n"

    def test_force_color_colours_no_text_of_the_model(
        self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        result = scripted.run(["ask", "hi", "-u"], ["**a**"])
        assert result.out == "**a**\n"
        assert result.err.startswith("\x1b[2m")

    def test_is_silent_beside_the_text_and_more_so_with_quiet(self, scripted: Scripted) -> None:
        assert scripted.run(["ask", "hi", "-q"]).err == scripted.run(["ask", "hi"]).err == ""

    def test_gets_utf8_whatever_python_was_told(self, program: Program) -> None:
        done = program.shell(
            "lacli ask --no-stdin hi; lacli ask --no-stdin --nosuch-é",
            SCRIPTS='["漢é"]',
            PYTHONIOENCODING="cp1252",
            LC_ALL="C",
        )
        assert done.stdout == "漢é\n".encode()
        assert "--nosuch-é" in done.stderr.decode()

    def test_that_is_closed_ends_the_program_with_141(self, program: Program) -> None:
        done = program.shell(
            'lacli ask --no-stdin hi | head -c 3; echo "${PIPESTATUS[0]}"', SCRIPTS='["word word"]', PAUSE="0.3"
        )
        assert done.stdout == b"wor141\n"
        assert done.stderr == b""


class TestStatistics:
    def test_a_line_for_people_where_asked_for(self, scripted: Scripted) -> None:
        for option in ("-u", "--usage", "-v"):
            assert " tok in " in scripted.run(["ask", "hi", option]).err

    def test_both_kinds_where_both_are(self, scripted: Scripted) -> None:
        first, second, *_ = scripted.run(["ask", "hi", "-u", "--stats", "-q"]).err.splitlines()
        assert json.loads(first)["finish_reason"] == "stop"
        assert " tok in " in second


class TestJson:
    def test_escapes_what_a_terminal_would_obey(self, scripted: Scripted) -> None:
        result = scripted.run(["ask", "hi", "--json"], ["a\x9b\x7fb"])
        assert "a\\u009b\\u007fb" in result.out
        assert json.loads(result.out)["text"] == "a\x9b\x7fb"


class Endless(ScriptedAssistant):
    """Writes until it is asked to stop; takes its time to load."""

    load_s = 0.0

    def open(self, report: object = None) -> None:
        time.sleep(self.load_s)

    def reply(self, request: object, cancel: object = None) -> Iterator[Event]:
        Run.current.deadline.restart()  # a busy machine may have needed all of it to begin
        stats, words = ReplyStats(predicted_n=1), 0
        yield Prefill(1, 1, 0)
        while not cancel():  # type: ignore[operator]
            words += 1
            yield Piece("word ", ("",), stats)
            time.sleep(0.01)
        yield Finished("word " * words, (1,) * words, "cancelled", stats)


class TestTimeout:
    @pytest.fixture
    def endless(self, scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> Scripted:
        monkeypatch.setattr("tests.cli.conftest.ScriptedAssistant", Endless)
        return scripted

    def test_keeps_the_text_so_far_and_exits_6(self, endless: Scripted) -> None:
        result = endless.run(["ask", "hi", "--timeout", "0.4"])
        assert result.code == 6
        assert result.out.startswith("word word")
        assert result.out.endswith(" \n")
        assert result.err == (
            "lacli: error: the 0.4 s of --timeout were over before the reply was; give more time, or ask for less\n"
        )

    def test_is_the_reason_in_the_document(self, endless: Scripted) -> None:
        result = endless.run(["ask", "hi", "--timeout", "0.4", "--json"])
        assert result.code == 6
        assert json.loads(result.out)["finish_reason"] == "timeout"

    def test_writes_what_there_is_where_nothing_was_streamed(self, endless: Scripted) -> None:
        result = endless.run(["ask", "hi", "--timeout", "0.4", "-S"])
        assert result.code == 6
        assert result.out.startswith("word word")

    def test_counts_the_loading_and_ends_it(self, endless: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Endless, "load_s", 30.0)
        result = endless.run(["ask", "hi", "--timeout", "0.4"])
        assert (result.code, result.out) == (6, "")
        assert "before the model was loaded" in result.err

    def test_over_before_anything_begins_is_the_same(self, endless: Scripted) -> None:
        assert endless.run(["ask", "hi", "--timeout", "0.001"]).code == 6

    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="only a timer ends the opening of a named pipe")
    @pytest.mark.parametrize(
        "arguments",
        [
            ["complete", "pipe:1"],
            ["edit", "pipe", "add hints"],
            ["edit", "a.py", "add hints", "-f", "pipe"],
            ["ask", "hi", "-f", "pipe"],
            ["ask", "--batch", "pipe"],
        ],
    )
    def test_ends_the_wait_for_a_named_pipe_that_nobody_writes_to(
        self, arguments: list[str], endless: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        os.mkfifo("pipe")
        Path("a.py").write_text("x = 1\n")
        result = endless.run([*arguments, "--timeout", "0.1"])
        assert (result.code, result.out) == (6, "")
        assert result.err.startswith("lacli: error: the 0.1 s of --timeout were over before ")

    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="only a timer ends the opening of a named pipe")
    def test_ends_the_wait_for_a_reader_of_a_named_pipe(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        os.mkfifo(tmp_path / "pipe")
        monkeypatch.setattr(Run.current, "deadline", Deadline(0.1))
        with pytest.raises(TimedOut) as caught:
            write_text("yes\n", str(tmp_path / "pipe"))
        assert caught.value.hint == "it was printed to stdout instead"
        assert capfd.readouterr().out == "yes\n"

    def test_counts_from_a_restart_and_is_none_unless_allowed(self) -> None:
        deadline = Deadline()
        assert not deadline.passed()
        deadline.seconds = 0.01
        time.sleep(0.02)
        assert deadline.passed()
        assert isinstance(deadline.failure("so"), TimedOut)
        deadline.seconds = 60
        deadline.restart()
        assert not deadline.passed()


class TestColour:
    @pytest.mark.parametrize(
        ("choice", "environment", "wanted"),
        [
            ("auto", {}, False),
            ("auto", {"FORCE_COLOR": "1"}, True),
            ("auto", {"FORCE_COLOR": "0"}, False),
            ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
            ("auto", {"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
            ("always", {"NO_COLOR": "1"}, True),
            ("never", {"FORCE_COLOR": "1"}, False),
        ],
    )
    def test_in_a_pipe(
        self, monkeypatch: pytest.MonkeyPatch, choice: str, environment: dict[str, str], wanted: bool
    ) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with open(os.devnull, "w", encoding="utf-8") as pipe:
            assert terminal.wants_colour(pipe, choice) is wanted

    def test_of_stdout_follows_the_choice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Run, "current", Run(colour="always"))
        assert output.coloured()
        monkeypatch.setattr(Run, "current", Run(colour="never"))
        assert not output.coloured()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
class TestTerminal:
    TEXT = "# T\n\n**a** [x] \x1b[31mb\n```py\nx = 1\n```"

    def seen(self, program: Program, *arguments: str, **environment: str) -> tuple[Screen, bytes]:
        """The screen after `ask -q`, and the bytes."""
        settings = [f"{name}={value}" for name, value in {"SCRIPTS": json.dumps([self.TEXT]), **environment}.items()]
        process = Terminal(["/usr/bin/env", *settings, *program.command("ask", "hi", "--no-stdin", "-q", *arguments)])
        assert process.finish() == 0
        screen = Screen(100, 30)
        screen.write(process.seen.decode().replace("\r\n", "\n"))
        return screen, process.seen

    def test_shows_markdown_with_styles(self, program: Program) -> None:
        screen, _ = self.seen(program)
        assert screen.lines() == ["T", "", "a [x] b", "```py", "x = 1", "```", ""]
        assert {"1", "2", "36"} <= screen.styles

    def test_shows_it_as_it_is_where_asked_to_or_it_can_do_no_better(self, program: Program) -> None:
        plain = self.TEXT.replace("\x1b[31m", "").replace("\n", "\r\n").encode() + b"\r\n"
        assert self.seen(program, "--plain")[1] == plain
        assert self.seen(program, TERM="dumb")[1] == plain

    def test_shows_no_colours_where_none_are_wanted(self, program: Program) -> None:
        for screen, _ in (self.seen(program, NO_COLOR="1"), self.seen(program, "--color", "never")):
            assert screen.lines() == ["# T", "", "**a** [x] b", "```py", "x = 1", "```", ""]
            assert not screen.styles

    def test_shows_all_at_the_end_where_nothing_is_streamed(self, program: Program) -> None:
        screen, seen = self.seen(program, "-S")
        assert screen.lines() == ["T", "", "a [x] b", "```py", "x = 1", "```", ""]
        assert b"\r\x1b" not in seen

    @pytest.mark.slow
    def test_and_the_numbers_below_never_mix_with_what_is_drawn_anew(self, program: Program) -> None:
        text = (
            "some words, **bold** ones and `code` that " * 8
            + "\n\n| a | b |\n|---|---|\n"
            + "| x | y |\n" * 5
            + "\nend"
        )
        settings = [f"SCRIPTS={json.dumps([text])}", "PAUSE=0.02"]
        process = Terminal(["/usr/bin/env", *settings, *program.command("ask", "hi", "--no-stdin")], 60)
        assert process.finish() == 0
        screen = Screen(60, 30)
        screen.write(process.seen.decode().replace("\r\n", "\n"))
        lines = [line.rstrip() for line in screen.lines()]
        end = lines.index("end")
        assert " ".join(lines[: lines.index("")]) == ("some words, bold ones and code that " * 8).strip()
        assert lines[lines.index("") + 1 : end - 1] == ["a    b", "───  ───", *["x    y"] * 5]
        assert " tok in " in lines[end + 1]
