"""What a person sees: the same commands on a pseudo-terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import sys
import textwrap
from pathlib import Path

import pytest

from lacli import paths
from lacli.pool.store import open_pool
from lacli.pool.update import PoolUpdate
from lacli.project.root import pool_key
from tests.cli.conftest import Program, Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

READY = b"\x1b[?2004h"
"""Written when the prompt begins to listen: pastes come in brackets from now on."""


def screen(data: bytes, columns: int = 100) -> list[str]:
    """The lines a terminal shows after these bytes, for the few sequences lacli itself writes."""
    rows: list[list[str]] = [[]]
    row = column = 0
    saved = (0, 0)
    for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[78D]|.|\n", data.decode(), re.DOTALL):
        if token in ("\n", "\x1bD", "\x1b[B"):
            row += 1
            rows.extend([] for _ in range(row + 1 - len(rows)))
        elif token == "\x1b[A":
            row -= 1
        elif token == "\r":
            column = 0
        elif token == "\x1b7":
            saved = (row, column)
        elif token == "\x1b8":
            row, column = saved
        elif token in ("\x1b[K", "\x1b[J"):
            del rows[row][column:]
            if token == "\x1b[J":
                rows[row + 1 :] = [[] for _ in rows[row + 1 :]]
        elif not token.startswith("\x1b"):
            if column == columns:
                row, column = row + 1, 0
                rows.extend([] for _ in range(row + 1 - len(rows)))
            rows[row].extend(" " for _ in range(column - len(rows[row])))
            rows[row][column : column + 1] = token
            column += 1
    return ["".join(row).rstrip() for row in rows]


LONG = "def f(x):\n    return x + 1\n\n" + "a rather long line of words " * 8


@pytest.mark.slow
def test_live_numbers_stand_below_the_text_never_mix_with_it_and_the_last_line_has_the_statistics(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTS", json.dumps([LONG]))
    monkeypatch.setenv("PAUSE", "0.04")
    terminal = Terminal(program.command("ask", "hi", "--no-stdin"))
    assert terminal.finish() == 0
    pieces = re.split(rb"(?=\x1b7)|(?<=\x1b8)", terminal.seen)  # a moment before and after each drawing
    for count in range(len(pieces)):
        reply = [line for line in screen(b"".join(pieces[:count])) if "tok" not in line]
        assert "".join(LONG.split()).startswith("".join("".join(reply).split()))
    *reply, last, rest = [line for line in screen(terminal.seen) if line]
    assert "".join("".join(reply).split()) == "".join(LONG.split())
    assert re.fullmatch(r"\d+ tok in \d+ steps · [\d.]+ tok/step · .* · saved \d+ steps, \d+ ms", last)
    assert re.fullmatch(r"  guessed \d+% \(project \d+%\) · pool 1,000 tok · first token 10 ms", rest)


@pytest.mark.slow
def test_live_numbers_rest_while_the_text_stays_on_its_line(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTS", json.dumps(["a " * 40]))
    monkeypatch.setenv("PAUSE", "0.05")  # 20 steps in a second
    terminal = Terminal(program.command("ask", "hi", "--no-stdin"))
    terminal.finish()
    assert b"tok/step" in terminal.seen
    assert 2 <= terminal.seen.count(b"\x1b[2m") <= 4
    assert terminal.seen.count(b"\x1b[J") + terminal.seen.count(b"\x1b[K\x1b[?7h") <= 6


def test_without_colour_the_numbers_are_in_brackets(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal(program.command("ask", "hi", "--no-stdin"))
    terminal.finish()
    assert b"[1 tok]" in terminal.seen
    assert b"\x1b[2m" not in terminal.seen


@pytest.mark.parametrize(("columns", "lines"), [(40, 3), (80, 2), (200, 1)])
@pytest.mark.default_cases(1)
def test_lines_longer_than_the_terminal_are_broken_between_numbers_and_words(
    program: Program, columns: int, lines: int
) -> None:
    terminal = Terminal(program.command("ask", "hi", "--no-stdin"), columns)
    terminal.finish()
    shown = [line for line in screen(terminal.seen, columns) if line][1:]
    assert len(shown) == lines
    assert all(len(line) <= columns for line in shown)
    assert re.fullmatch(r"2 tok in 1 step · .* · first token 10 ms", " · ".join(map(str.strip, shown)))
    wrong = Terminal(program.command("ask", "--no-stdin", "--top-p", "7", "hi"), columns)
    wrong.finish()
    message = "lacli: error: --top-p 7.0 is out of range; give a number above 0 and at most 1"
    assert [line.strip() for line in wrong.seen.decode().splitlines()] == [
        line.strip() for line in textwrap.wrap(message, columns, subsequent_indent="  ")
    ]


def test_a_part_wider_than_the_terminal_is_broken_between_words(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTS", '["one two three four five"]')
    terminal = Terminal(program.command("ask", "hi", "--no-stdin"), 24)
    terminal.finish()
    shown = [line for line in screen(terminal.seen, 24) if line]
    assert all(len(line) <= 24 for line in shown)
    assert "  guessed 40% (project" in shown
    assert "    40%)" in shown


def test_a_dumb_terminal_sees_no_escape_sequence(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(["/usr/bin/env", "TERM=dumb", *program.command("ask", "hi", "--no-stdin")])
    assert terminal.finish() == 0
    assert b"\x1b" not in terminal.seen
    assert terminal.seen == b"hello world\r\n"


def test_quiet_shows_the_text_only(program: Program) -> None:
    terminal = Terminal(program.command("ask", "hi", "--no-stdin", "-q"))
    assert terminal.finish() == 0
    assert terminal.seen == b"hello world\r\n"


def test_hostile_text_is_disarmed_on_a_terminal(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTS", json.dumps(["a\x1b]0;title\x07 \x1b[2Jb"]))
    terminal = Terminal(program.command("ask", "hi", "--no-stdin", "-q"))
    terminal.finish()
    assert terminal.seen == b"a b\r\n"


def test_complete_ends_the_line_on_a_terminal_and_says_how_it_went(program: Program) -> None:
    (program.folder / "a.py").write_text("x = ", encoding="utf-8")
    terminal = Terminal(program.command("complete", str(program.folder / "a.py")))
    assert terminal.finish() == 0
    assert b"1 tok" in terminal.seen.split(b"world")[0]  # the live line
    text, stats, *rest = screen(terminal.seen)
    assert text == "hello world"
    assert stats.startswith("2 tok in 1 step")
    assert rest == [""]


def test_complete_that_is_quiet_or_piped_writes_the_text(program: Program) -> None:
    (program.folder / "a.py").write_text("x = ", encoding="utf-8")
    command = program.command("complete", str(program.folder / "a.py"))
    quiet = Terminal([*command, "-q"])
    quiet.finish()
    assert quiet.seen == b"hello world\r\n"
    piped = Terminal(["/bin/bash", "-c", '"$@" | od -c', "bash", *command])
    piped.finish()
    assert b"w   o   r   l   d\r\n" in piped.seen


def test_the_list_of_models_has_a_header_and_the_size_of_what_is_not_here(program: Program) -> None:
    terminal = Terminal(program.command("models", "list"))
    assert terminal.finish() == 0
    header, first, *_ = terminal.seen.decode().splitlines()
    assert header.split()[:3] == ["name", "size", "context"]
    assert first.index("not here, 93 MB") == header.index("status")


def test_no_to_pool_clear_is_no_error(program: Program) -> None:
    pool = open_pool(pool_key(Path(os.path.realpath(program.folder)), "f" * 64), paths.pools_dir(), "learn", 50_000)
    pool.learn(PoolUpdate(list(range(40))))
    terminal = Terminal([*program.command("pool", "clear", "--project", str(program.folder))])
    terminal.wait_for(b"[y/N]")
    terminal.send(b"n\r")
    assert terminal.finish() == 1
    assert b"lacli: nothing was deleted" in terminal.seen
    assert b"error" not in terminal.seen


class TestKeysDuringAReply:
    @pytest.fixture
    def slow(self, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SCRIPTS", json.dumps(["word " * 60, "second"]))
        monkeypatch.setenv("PAUSE", "0.04")

    @pytest.mark.usefixtures("slow")
    @pytest.mark.parametrize("command", ["ask", "complete"])
    @pytest.mark.default_cases(1)
    def test_are_not_shown_and_the_terminal_is_as_before_after_any_end(self, program: Program, command: str) -> None:
        (program.folder / "a.py").write_text("x = ", encoding="utf-8")
        arguments = {"ask": ["ask", "hi"], "complete": ["complete", str(program.folder / "a.py")]}[command]
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)):
            # A shell around it holds the terminal open, so that what is left of its settings can be read.
            script = 'trap : TERM; "$@"; echo "code $?"; read answer; echo "read [$answer]"'
            terminal = Terminal(["/bin/bash", "-c", script, "bash", *program.command(*arguments)])
            terminal.wait_for(b"word")
            assert not terminal.echoes()
            terminal.send(b"zzz")
            terminal.wait_for(b"word")
            if number == signal.SIGINT:
                terminal.send(b"\x03")
            else:
                terminal.signal_foreground(number)
            terminal.wait_for(b"code %d" % (code if code > 0 else 128 - code))
            assert terminal.echoes()
            assert b"zzz" not in terminal.seen
            assert b"^C" not in terminal.seen
            terminal.send(b"\n")
            terminal.wait_for(b"read [zzz]")
            terminal.finish()

    @pytest.mark.usefixtures("slow")
    @pytest.mark.parametrize("end", [b"", b"\x03"])
    @pytest.mark.default_cases(1)
    def test_are_the_draft_of_the_next_question_and_not_sent(self, program: Program, end: bytes) -> None:
        terminal = Terminal(program.command("chat"))
        terminal.wait_for(READY)
        terminal.send(b"one?\r")
        terminal.wait_for(b"word")
        terminal.send(b"draft")
        terminal.wait_for(b"word")
        terminal.send(end)
        terminal.wait_for(b"tok in")
        assert b"draft" not in terminal.seen.partition(b"tok in")[0]
        terminal.wait_for(READY)
        terminal.wait_for(b"draft")
        assert b"second" not in terminal.seen
        terminal.send(b"\r")
        terminal.wait_for(b"second")
        terminal.wait_for(READY)
        terminal.send(b"\x04")
        assert terminal.finish() == 0

    @pytest.mark.usefixtures("slow")
    @pytest.mark.slow
    def test_that_end_in_enter_are_the_next_question(self, program: Program) -> None:
        terminal = Terminal(program.command("chat"))
        terminal.wait_for(READY)
        terminal.send(b"one?\r")
        terminal.wait_for(b"word")
        terminal.send(b"draft\r")
        terminal.wait_for(b"tok in")
        terminal.wait_for(b"draft")
        terminal.wait_for(b"second")
        terminal.wait_for(READY)
        terminal.send(b"\x04")
        assert terminal.finish() == 0


class TestChat:
    def test_a_conversation(self, program: Program, monkeypatch: pytest.MonkeyPatch, sandbox: Path) -> None:
        monkeypatch.setenv("SCRIPTS", json.dumps(["first answer here", "second"]))
        terminal = Terminal(program.command("chat"))
        terminal.wait_for(b"Ctrl-D leaves")
        terminal.wait_for(READY)
        terminal.send(b"one?\r")
        terminal.wait_for(b"answer here")
        terminal.wait_for(b"tok in")
        terminal.wait_for(READY)
        terminal.send(b"two?\r")
        terminal.wait_for(b"second")
        terminal.wait_for(READY)
        terminal.send(b"\x04")
        assert terminal.finish() == 0
        history = sandbox / "state" / "chat_history"
        assert "one?" in history.read_text(encoding="utf-8")
        assert stat.S_IMODE(history.stat().st_mode) == 0o600

    def test_ctrl_c_keeps_the_partial_reply_and_returns_to_the_prompt(
        self, program: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SCRIPTS", json.dumps(["word " * 300, "second"]))
        monkeypatch.setenv("PAUSE", "0.05")
        terminal = Terminal(program.command("chat"))
        terminal.wait_for(READY)
        terminal.send(b"one?\r")
        terminal.wait_for(b" word")
        terminal.send(b"\x03")
        terminal.wait_for(b"tok in")
        terminal.wait_for(READY)
        terminal.send(b"two?\r")
        terminal.wait_for(b"second")
        terminal.wait_for(READY)
        terminal.send(b"/exit\r")
        assert terminal.finish() == 0

    @pytest.mark.parametrize(("option", "kept"), [("--no-log", False), ("--no-pool", True)])
    def test_what_is_typed_is_kept_as_the_log_is(
        self, program: Program, sandbox: Path, option: str, kept: bool
    ) -> None:
        terminal = Terminal(program.command("chat", option))
        terminal.wait_for(READY)
        terminal.send(b"one?\r")
        terminal.wait_for(b"tok in")
        terminal.wait_for(READY)
        terminal.send(b"\x04")
        assert terminal.finish() == 0
        assert (sandbox / "state" / "chat_history").exists() == kept

    def test_two_ctrl_c_at_the_empty_prompt_exit_130(self, program: Program) -> None:
        terminal = Terminal(program.command("chat"))
        terminal.wait_for(READY)
        terminal.send(b"\x03")
        terminal.wait_for(b"/exit leaves")
        terminal.wait_for(READY)
        terminal.send(b"\x03")
        assert terminal.finish() == 130

    def test_pasted_lines_are_one_question(self, program: Program, sandbox: Path) -> None:
        terminal = Terminal(program.command("chat"))
        terminal.wait_for(READY)
        terminal.send(b"\x1b[200~line one\nline two\x1b[201~")
        terminal.send(b"\r")
        terminal.wait_for(b" world")
        terminal.wait_for(READY)
        terminal.send(b"\x04")
        assert terminal.finish() == 0
        assert "+line one\n+line two" in (sandbox / "state" / "chat_history").read_text(encoding="utf-8")
