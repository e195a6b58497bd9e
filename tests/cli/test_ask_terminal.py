"""`ask` where stdin is a pipe and someone sits at the terminal: the editor and the next question (case P6)."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from tests.cli.conftest import Program, Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


def at_terminal(program: Program, line: str) -> Terminal:
    """A line of shell on a terminal, in which `lacli` is the scripted program."""
    lacli = shlex.join(program.command())
    return Terminal(["/bin/bash", "-c", f'lacli() {{ {lacli} "$@"; }}\n{line}'])


def test_the_editor_has_the_terminal_whatever_stdin_and_stdout_are(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program.folder / "editor.sh").write_text(
        'test -t 0 && test -t 1 || exit 9\nprintf "write> "\nread line\nprintf "%s\\n" "$line" > "$1"\n', "utf-8"
    )
    monkeypatch.setenv("EDITOR", f"sh {program.folder / 'editor.sh'}")
    out = program.folder / "out"
    terminal = at_terminal(program, f"echo piped | lacli ask -e --dry-run draft > '{out}'; echo ended $?")
    terminal.wait_for(b"write> ")
    terminal.send(b"from the editor\r")
    terminal.wait_for(b"ended 0")
    assert terminal.finish() == 0
    assert out.read_text() == "```stdin\npiped\n```\n\nfrom the editor"


def test_the_next_question_is_typed_where_the_first_was_piped(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTS", json.dumps(["first reply", "second reply"]))
    terminal = at_terminal(program, "echo 1 2 3 | lacli ask -i 'sum these'")
    terminal.wait_for(b"first")
    terminal.wait_for(b"\x1b[?2004h")  # the prompt listens
    terminal.send(b"and again\r")
    terminal.wait_for(b"second")
    terminal.wait_for(b"\x1b[?2004h")
    terminal.send(b"\x04")
    assert terminal.finish() == 0


def test_json_lines_are_whole_on_a_terminal_where_numbers_are_drawn(program: Program) -> None:
    terminal = Terminal(program.command("ask", "--jsonl", "--no-stdin", "hi"))
    assert terminal.finish() == 0
    lines = [line for line in terminal.seen.decode().replace("\r\n", "\n").split("\n") if '"event"' in line]
    records = [json.loads(line[line.index("{") :]) for line in lines]
    assert [each["event"] for each in records] == ["prefill", "piece", "piece", "finished"]
