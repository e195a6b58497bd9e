"""The chat on a pseudo-terminal, with an assistant that takes its time to load."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest

from lacli.sessions.store import SessionStore, path
from tests.cli.conftest import Program, Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

READY = b"\x1b[?2004h"
"""Written when the prompt begins to listen."""
PROGRAM = """
import json, os, sys, time
import lacli.assistant.assistant
from lacli.cli.main import main
from lacli.errors import OutOfMemory
from lacli.events import Loading
from lacli.assistant.scripted import ScriptedAssistant

class Loads(ScriptedAssistant):
    def open(self, report=lambda event: None):
        if "FRESH" in os.environ:
            assert not {"torch", "transformers", "rich", "textual"} & set(sys.modules), "too early"
        report(Loading("load"))
        while os.path.exists(os.environ["HOLD"]):
            time.sleep(0.01)
        if "FAILS" in os.environ:
            raise OutOfMemory("the model does not fit", "take a smaller one")

    def reply(self, request, cancel=lambda: False):
        for event in super().reply(request, cancel):
            time.sleep(float(os.environ.get("PAUSE", "0")))
            yield event

lacli.assistant.assistant.Assistant = lambda settings: Loads(json.loads(os.environ["SCRIPTS"]))
sys.exit(main())
"""


@pytest.fixture
def hold(program: Program, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Loading lasts for as long as this file is there."""
    (program.folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    (program.folder / "project").mkdir()
    monkeypatch.chdir(program.folder / "project")
    hold = program.folder / "hold"
    monkeypatch.setenv("HOLD", str(hold))
    return hold


def test_the_prompt_is_there_while_the_model_loads_and_says_so_until_it_is_loaded(
    program: Program, hold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRESH", "1")
    hold.touch()
    terminal = Terminal(program.command("chat"))
    terminal.wait_for(READY)
    terminal.wait_for(b"loading the model")
    terminal.send(b"one?")
    terminal.wait_for(b"?")
    terminal.send(b"\r")
    terminal.wait_for(b"loading the model")
    terminal.send(b"\x03")
    terminal.wait_for(b"goes on loading")
    terminal.wait_for(b"one?")
    hold.unlink()
    terminal.send(b"\r")
    terminal.wait_for(b"hello")
    terminal.wait_for(READY)
    terminal.send(b"\x04")
    terminal.wait_for(b"goes on with this conversation")
    assert terminal.finish() == 0


def test_who_leaves_while_it_loads_does_not_wait(program: Program, hold: Path) -> None:
    hold.touch()
    for keys, code in ((b"\x04", 0), (b"one?\r", 130)):
        terminal = Terminal(program.command("chat"))
        terminal.wait_for(b"loading the model")
        terminal.send(keys)
        if code:
            terminal.wait_for(b"loading the model")
            terminal.send(b"\x03")
            terminal.wait_for(READY)
            terminal.send(b"\x03")
        assert terminal.finish() == code


def test_a_request_to_terminate_ends_the_prompt_and_keeps_a_reply_that_is_being_written(
    program: Program, hold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(program.command("chat"))
    terminal.wait_for(READY)
    terminal.signal_foreground(signal.SIGTERM)
    assert terminal.finish() == 143
    assert b"\x1b[?2004l" in terminal.seen  # the terminal is as before
    monkeypatch.setenv("SCRIPTS", json.dumps(["word " * 300]))
    monkeypatch.setenv("PAUSE", "0.02")
    terminal = Terminal(program.command("chat"))
    terminal.wait_for(READY)
    terminal.send(b"one?\r")
    terminal.wait_for(b"word")
    terminal.signal_foreground(signal.SIGHUP)
    assert terminal.finish() == 129
    store = SessionStore(path())
    (session,) = store.list(everywhere=True)
    (turn,) = store.session(session.id).turns
    assert turn.interrupted
    assert turn.answer.text.startswith("word")


@pytest.mark.parametrize("gap", [0, 0.002, 0.01, 0.03, 0.06])
@pytest.mark.parametrize("is_loaded", [True, False])
@pytest.mark.default_cases(1)
def test_ctrl_c_right_behind_enter_is_heard_and_the_question_is_back(
    program: Program, hold: Path, monkeypatch: pytest.MonkeyPatch, gap: float, is_loaded: bool
) -> None:
    """Case C2: the prompt has the terminal still, or half of it, or the reply begins just now."""
    if not is_loaded:
        hold.touch()
    monkeypatch.setenv("SCRIPTS", json.dumps(["word " * 300]))
    monkeypatch.setenv("PAUSE", "0.1")
    terminal = Terminal(program.command("chat"))
    terminal.wait_for(READY)
    if gap:
        terminal.send(b"one?\r")
        time.sleep(gap)
        terminal.send(b"\x03")
    else:
        terminal.send(b"one?\r\x03")
    terminal.wait_for(b"\r\n\x1b[J")  # the line with the question is left
    terminal.wait_for(READY, 5)  # and not after half a minute of words
    terminal.wait_for(b"one?", 5)
    terminal.send(b"\x15\x04")
    assert terminal.finish() == 0
    assert SessionStore(path()).list(everywhere=True) == []


def test_a_line_typed_ahead_is_sent_alone_and_not_behind_a_question_that_came_back(
    program: Program, hold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold.touch()
    terminal = Terminal(program.command("chat"))
    terminal.wait_for(b"loading the model")
    terminal.send(b"one?\r")
    terminal.wait_for(b"loading the model")
    terminal.send(b"/tokens?\r")
    time.sleep(0.2)  # or Ctrl-C, which the terminal itself hears, would overtake it
    terminal.send(b"\x03")
    terminal.wait_for(b"there is no command /tokens")
    terminal.wait_for(READY)
    terminal.send(b"\x04")
    assert terminal.finish() == 0


def test_a_line_typed_before_the_prompt_is_there_is_sent_and_several_wait_to_be_looked_at(
    program: Program, hold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTS", json.dumps(["first", "second"]))
    for keys, more in ((b"one?\r", b""), (b"one?\rtwo\r", b"\r")):
        terminal = Terminal(program.command("chat"))
        terminal.send(keys)
        terminal.wait_for(READY)
        terminal.send(more)
        terminal.wait_for(b"first")
        terminal.wait_for(READY)
        terminal.send(b"\x04")
        assert terminal.finish() == 0
    store = SessionStore(path())
    kept = [turn.question.text for each in store.list(everywhere=True) for turn in store.session(each.id).turns]
    assert [text.rstrip("\n") for text in kept] == ["one?\ntwo", "one?"]


def test_ctrl_d_typed_before_the_prompt_is_there_leaves(program: Program, hold: Path) -> None:
    terminal = Terminal(program.command("chat"))
    terminal.send(b"\x04")
    assert terminal.finish() == 0


def test_a_loading_that_fails_ends_the_chat_with_its_code_and_one_line(
    program: Program, hold: Path, sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILS", "1")
    hold.touch()
    terminal = Terminal(program.command("chat"))
    terminal.wait_for(b"loading the model")
    terminal.send(b"half a question")
    terminal.wait_for(b"question")
    hold.unlink()
    terminal.wait_for(b"lacli: error: the model does not fit; take a smaller one")
    assert terminal.finish() == 4
    assert terminal.seen.count(b"error") == 1
    assert "+half a question" in (sandbox / "state" / "chat_history").read_text(encoding="utf-8")


def test_after_a_pipe_further_turns_come_from_the_terminal(
    program: Program, hold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case P6."""
    monkeypatch.setenv("SCRIPTS", json.dumps(["first", "second"]))
    command = program.command("chat", "-i", "sum these up")
    terminal = Terminal(["/bin/bash", "-c", 'seq 1 40 | "$@"', "bash", *command])
    terminal.wait_for(b"first")
    terminal.wait_for(READY)
    terminal.send(b"and now?\r")
    terminal.wait_for(b"second")
    terminal.wait_for(READY)
    terminal.send(b"\x04")
    assert terminal.finish() == 0


def test_without_a_terminal_there_is_one_turn_and_never_a_prompt(program: Program, hold: Path) -> None:
    """Case P6, and a script that must not fall into a loop (ux.md §3, 14)."""
    run = program.shell('seq 1 40 | setsid -w "$0" "$1" chat -i "sum up" 2>&1'.replace('"$0" "$1"', _quoted(program)))
    assert (run.returncode, run.stdout) == (
        0,
        b"hello world\nlacli: there is no terminal to ask on at: this was the only turn\n",
    )
    empty = program.shell("lacli chat < /dev/null")
    assert (empty.returncode, empty.stdout) == (2, b"")
    assert b"there is nothing to ask" in empty.stderr


def test_five_hundred_pasted_lines_are_one_question(program: Program, hold: Path, sandbox: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(500))
    terminal = Terminal(program.command("chat"))
    terminal.wait_for(READY)
    for part in (b"\x1b[200~", *(lines[at : at + 1000].encode() for at in range(0, len(lines), 1000)), b"\x1b[201~"):
        terminal.send(part)
    terminal.send(b"\r")
    terminal.wait_for(b" world")
    terminal.wait_for(READY)
    terminal.send(b"\x04")
    assert terminal.finish() == 0
    kept = (sandbox / "state" / "chat_history").read_text(encoding="utf-8")
    assert kept.count("\n+") == 500
    assert kept.count("\n#") == 1


def test_what_is_typed_is_utf8_in_any_locale_and_other_bytes_do_not_end_the_chat(
    program: Program, hold: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setenv("SCRIPTS", json.dumps(["hello world"] * 2))
    terminal = Terminal(program.command("chat"))
    terminal.wait_for(READY)
    terminal.send("naïve 漢字\r".encode())
    terminal.wait_for(b" world")
    terminal.wait_for(READY)
    terminal.send(b"caf\xe9 au lait\r")
    terminal.wait_for(b" world")
    terminal.wait_for(READY)
    terminal.send(b"\x04")
    assert terminal.finish() == 0
    log = program.shell("lacli sessions export --json").stdout.decode()
    assert "naïve 漢字" in log
    assert "café au lait" in log


def test_ctrl_z_goes_to_the_shell_and_what_was_typed_is_still_there_afterwards(program: Program, hold: Path) -> None:
    shell = Terminal(["/bin/sh", "-i"])
    prompt = b"# " if os.getuid() == 0 else b"$ "
    shell.wait_for(prompt)
    shell.send(" ".join(shlex.quote(part) for part in program.command("chat")).encode() + b"\r")
    shell.wait_for(READY)
    shell.send(b"half")
    shell.wait_for(b"half")
    shell.send(b"\x1a")
    shell.wait_for(prompt)
    shell.send(b"fg\r")
    shell.wait_for(b"> half")
    shell.send(b"\x15\x04")
    shell.wait_for(prompt)
    shell.send(b"exit\r")
    shell.finish()


def test_a_conversation_goes_on_where_it_was_left(program: Program, hold: Path) -> None:
    assert program.shell("lacli chat 'one?'").stdout == b"hello world\n"
    terminal = Terminal(program.command("chat", "-c"))
    terminal.wait_for(b"going on with session")
    terminal.wait_for(b"> one?")
    terminal.wait_for(b"hello world")
    terminal.wait_for(READY)
    terminal.send(b"\x04")
    assert terminal.finish() == 0


def _quoted(program: Program) -> str:
    return " ".join(f'"{part}"' for part in program.command())
